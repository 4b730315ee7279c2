"""The command line: read arguments, call the library, print. No mathematics here.

A mistake of the user's is one line on standard error and exit code 2.
"""

import shlex
import sys
from typing import Annotated

import typer
from typer.exceptions import Abort, Exit, TyperException

from graphsqueak import __version__
from graphsqueak.cli.certify import certify
from graphsqueak.cli.demo import demo
from graphsqueak.cli.info import info
from graphsqueak.cli.label import label
from graphsqueak.cli.merge import merge
from graphsqueak.cli.neighbors import neighbors
from graphsqueak.cli.resistance import resistance
from graphsqueak.cli.sparsify import sparsify
from graphsqueak.cli.wording import in_options
from graphsqueak.errors import InputError
from graphsqueak.system.signals import Stopped, stoppable

__all__ = ["app", "run"]

app = typer.Typer(
    name="graphsqueak",
    help="Graphs too large to keep: read, measure, sparsify and label edge files of any size.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (certify, demo, info, label, merge, neighbors, resistance, sparsify):
    app.command()(command)


def _print_version(wanted: bool):
    if wanted:
        print(__version__)  # noqa: T201
        raise Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="And stop.")
    ] = False,
):
    pass


def run(arguments=None):
    """Run one command and return its exit code; no command at all asks for help."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        with stoppable():
            return app(arguments, prog_name="graphsqueak", standalone_mode=False) or 0
    except Exit as stop:
        return stop.exit_code
    except TyperException as mistake:
        return _complain(mistake.format_message() + _where_to_look(mistake), 2)
    except InputError as mistake:
        return _complain(in_options(str(mistake)), 2)
    except OSError as failure:
        return _complain(f"{failure.filename or 'input or output'}: {failure.strerror}", 2)
    except Stopped as stop:
        return _complain(_how_to_go_on(stop, arguments), 128 + stop.number)
    except (Abort, KeyboardInterrupt):
        return _complain("interrupted", 130)


def _where_to_look(mistake):
    """The help of the command that was meant, as far as it is known."""
    context = getattr(mistake, "ctx", None)
    return f" See {context.command_path} --help." if context else ""


def _how_to_go_on(stop, arguments):
    if stop.checkpoint is None:
        return "stopped; nothing was written"
    words = list(arguments)
    words += [] if "--resume" in words else ["--resume"]
    again = shlex.join(["graphsqueak", *words])
    return f"stopped and saved in {stop.checkpoint}; go on with: {again}"


def _complain(message, code):
    print("graphsqueak: " + " ".join(message.split()), file=sys.stderr)  # noqa: T201
    return code
