"""The command line: read arguments, call the library, print. No mathematics here.

A mistake of the user's is one line on standard error, in the words of the command line
(columns=(0, 1) is --columns 0,1), and exit code 2.
"""

import re
import shlex
import sys
import warnings
from contextlib import contextmanager
from typing import Annotated

import typer
from typer.exceptions import Abort, Exit, TyperException

from graphsqueak import __version__
from graphsqueak.cli.certify import certify
from graphsqueak.cli.demo import demo
from graphsqueak.cli.dictionary import dictionary
from graphsqueak.cli.info import info
from graphsqueak.cli.label import label
from graphsqueak.cli.learn import learn
from graphsqueak.cli.merge import merge
from graphsqueak.cli.neighbors import neighbors
from graphsqueak.cli.resistance import resistance
from graphsqueak.cli.spam import spam
from graphsqueak.cli.sparsify import sparsify
from graphsqueak.errors import DistanceWeightsWarning, InputError
from graphsqueak.system.atomic import Stopped, stoppable, written_paths
from graphsqueak.system.terminal import is_open_at_start, print_message, printable

__all__ = ["app", "in_options", "run", "show_warning"]

_EXACT = {
    "weighted=False": "--no-weights",
    "certify=True": "--certify",
    "resume=True": "--resume",
    "random_state": "--seed",
    "memory_limit": "--memory",
    "weighted=True": "--weights",
    "weights_are=": "--weights-are ",
    "n_edges=": "--edges ",
    "n_components=": "--atoms ",
    "n_neighbors=": "--neighbors ",
    "half_life=": "--half-life ",
    "window=...": "--window",
    "time=...": "--time COLUMN",
}
_SAME_NAME = (
    "columns|delimiter|layout|epsilon|keep|method|ids|delta|steps|rtol|ridge|eta|metric|weight"
)
_SAME_NAME += "|checkpoint|symmetrize|sigma|tree|workers|scheduler|classes|task|discount"
_SAME_NAME += "|time|slack|window|buckets"

app = typer.Typer(
    name="graphsqueak",
    help="Graphs too large to keep: read, measure, sparsify and label edge files of any size.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    certify,
    demo,
    dictionary,
    info,
    label,
    learn,
    merge,
    neighbors,
    resistance,
    spam,
    sparsify,
):
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
    if "--json" in arguments and not is_open_at_start(1):
        return _complain("--json prints on standard output, which is closed; leave it open", 2)
    try:
        with stoppable(), _warnings_in_one_line():
            return app(arguments, prog_name="graphsqueak", standalone_mode=False) or 0
    except Exit as stop:
        return stop.exit_code
    except TyperException as mistake:
        return _complain(mistake.format_message() + _where_to_look(mistake), 2)
    except InputError as mistake:
        return _complain(in_options(str(mistake)), 2)
    except OSError as failure:
        name = failure.filename or "input or output"
        return _complain(f"{name}: {failure.strerror or failure}", 2)
    except MemoryError as failure:
        reason = str(failure) or "the input is too large for this machine"
        return _complain(f"out of memory: {reason}", 2)
    except Stopped as stop:
        return _complain(_how_to_go_on(stop, arguments), 128 + stop.number)
    except (Abort, KeyboardInterrupt):
        return _complain("interrupted", 130)


@contextmanager
def _warnings_in_one_line():
    """Print a warning as one line on standard error, in the words of the command line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DistanceWeightsWarning)
        warnings.showwarning = _print_warning
        yield


def _print_warning(message, category, filename, lineno, file=None, line=None):
    _print_on_stderr("warning: " + in_options(str(message)))


def in_options(message):
    """The message, with names of arguments as options.

    >>> in_options("4 columns; choose them, e.g. columns=(0, 1), or give weighted=False")
    '4 columns; choose them, e.g. --columns 0,1, or give --no-weights'
    >>> in_options("keep=5.0 is a fraction of the edges, at most 1")
    '--keep 5.0 is a fraction of the edges, at most 1'
    >>> in_options("give header=True (--header) or ids='text' (--ids text)")
    'give --header or --ids text'
    >>> in_options("give columns=('user', 'my friend') (--columns 'user,my friend')")
    "give --columns 'user,my friend'"
    >>> in_options("name it (delimiter=)")
    'name it (--delimiter)'
    """
    value = r"(?:'[^']*'|\w+|\([^)]*\))"
    message = re.sub(rf"\b\w+={value} \((--[^)]+)\)", r"\1", message)  # where both are named
    for name, option in _EXACT.items():
        message = message.replace(name, option)
    message = re.sub(
        r"\bcolumns=\(([^)]*)\)", lambda found: "--columns " + found[1].replace(" ", ""), message
    )
    message = re.sub(rf"(?<![\w-])({_SAME_NAME})=(?=[)\s;]|$)", r"--\1", message)
    return re.sub(rf"(?<![\w-])({_SAME_NAME})=", r"--\1 ", message)


def _where_to_look(mistake):
    """The help of the command that was meant, as far as it is known."""
    context = getattr(mistake, "ctx", None)
    return f" See {context.command_path} --help." if context else ""


def _how_to_go_on(stop, arguments):
    """How a stopped run is resumed, or what it leaves."""
    if stop.checkpoint is None:
        written = ", ".join(written_paths())
        said = f"{written} had been written" if written else "nothing was written"
        return f"stopped; {said}"
    words = list(arguments)
    words += [] if "--resume" in words else ["--resume"]
    again = " ".join(map(_quoted, ["graphsqueak", *words]))
    return f"stopped and saved in {stop.checkpoint}; go on with: {again}"


def _quoted(word):
    r"""A word of a command that can be pasted into a shell, control characters escaped.

    >>> print(_quoted("two words.tsv"), _quoted("a\x1b'b.tsv"))
    'two words.tsv' $'a\x1b\'b.tsv'
    """
    if printable(word) == word:
        return shlex.quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{printable(escaped)}'"


def show_warning(message, category, filename, lineno, file=None, line=None):
    """Print a warning as `warnings.showwarning` does, but as a message of the program."""
    _complain(f"warning: {message}", 0)


def _complain(message, code):
    _print_on_stderr("graphsqueak: " + message)
    return code


def _print_on_stderr(message):
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    print_message(printable(line))
