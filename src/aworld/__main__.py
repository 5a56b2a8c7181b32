"""`python -m aworld` is the command `aworld`."""

import sys


def main() -> None:
    try:
        from aworld.cli.main import main as command
    except KeyboardInterrupt:  # Ctrl-C, before anything was begun
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
