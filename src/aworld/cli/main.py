"""The command `aworld`: its commands, and what its exit codes mean.

0    all done
1    some tasks failed, nothing could be scored, or a run or a training could not go on
2    bad input: one line says what to do, and nothing was started
130  interrupted: the last line tells how to go on
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from aworld import __version__
from aworld.cli.cancel import cancel
from aworld.cli.demo import demo
from aworld.cli.doctor import doctor
from aworld.cli.exchange import export, import_file
from aworld.cli.ls import ls
from aworld.cli.output import be_patient, why_unwritten
from aworld.cli.resume import resume
from aworld.cli.run import run
from aworld.cli.scores import compare, evaluate, rescore
from aworld.cli.serve import serve
from aworld.cli.show import show
from aworld.cli.train import train
from aworld.cli.view import view
from aworld.cli.why import why
from aworld.core.shown import harmless, shortened
from aworld.errors import AWorldError

LONGEST_PATH = 200
RECORDING = ("run", "resume", "demo", "train")

app = typer.Typer(
    name="aworld",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for name, command in {
    "run": run,
    "resume": resume,
    "ls": ls,
    "show": show,
    "view": view,
    "eval": evaluate,
    "compare": compare,
    "rescore": rescore,
    "export": export,
    "import": import_file,
    "cancel": cancel,
    "train": train,
    "serve": serve,
    "why": why,
    "doctor": doctor,
    "demo": demo,
}.items():
    app.command(name)(command)


@dataclass
class Wishes:
    """What concerns every command."""

    traceback: bool = False
    command: str | None = None


@app.callback(invoke_without_command=True)
def aworld(
    context: typer.Context,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error comes from.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Run many LLM-agent tasks at once; look at, score, compare and export runs; train on them."""
    context.obj.traceback = traceback
    context.obj.command = context.invoked_subcommand
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """The script `aworld`."""
    be_patient()
    wishes = Wishes()
    code = _code_of(arguments, wishes)
    problem = why_unwritten()
    if problem:
        print(f"aworld: standard output cannot be written to: {problem}", file=sys.stderr)
        if wishes.command not in RECORDING:  # their results are on disk
            code = code or 1
    sys.exit(code)


def _code_of(arguments: list[str] | None, wishes: Wishes) -> int:
    try:
        command = typer.main.get_command(app)  # it takes a moment, in which Ctrl-C may come
        code = command.main(arguments, prog_name="aworld", standalone_mode=False, obj=wishes)
        return code if isinstance(code, int) else 0
    except (AWorldError, OSError) as error:
        if wishes.traceback:
            raise
        print(f"aworld: {harmless(_in_words(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except typer.TyperException as error:
        where = getattr(error, "ctx", None)
        hint = "" if where is None else f" (see {where.command_path} --help)"
        message = error.format_message() or "what is to be done?"
        print(f"aworld: {' '.join(message.split())}{hint}", file=sys.stderr)
        return error.exit_code


def _in_words(error: AWorldError | OSError) -> str:
    if isinstance(error, AWorldError) or error.filename is None:
        return str(error) or type(error).__name__
    return f"{shortened(str(error.filename), LONGEST_PATH)}: {error.strerror}"
