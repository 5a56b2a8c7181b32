"""`python -m aworld.view.process FOLDER`: a view that lasts as long as its standard input."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from aworld.errors import AWorldError


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path)
    words.add_argument("--host", default="127.0.0.1")
    words.add_argument("--port", type=int)
    asked = words.parse_args()
    from aworld.view.server import ViewServer

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ViewServer(asked.folder, host=asked.host, port=asked.port) as server:
            print(server.url, flush=True)
            sys.stdin.read()
    except KeyboardInterrupt:  # it was asked to end
        pass
    except AWorldError as error:
        print(error, flush=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
