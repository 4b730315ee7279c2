"""The command line: parse arguments, call the library, print.

Wrong input ends a command with exit code 2 and one line on standard error, in which parameters of
the library are written as options (columns=(0, 1) is --columns 0,1). For this, the parameters of
commands and of option groups (`groups`) have the names of the library's parameters.
"""

import re
import shlex
import sys
import warnings
from contextlib import contextmanager
from functools import partial
from typing import Annotated

import typer
from typer.exceptions import Abort, Exit, TyperException

from graphsqueak import __version__
from graphsqueak.cli.certify import certify
from graphsqueak.cli.demo import demo
from graphsqueak.cli.dictionary import dictionary
from graphsqueak.cli.example import example
from graphsqueak.cli.help_pages import PanelCommand
from graphsqueak.cli.info import info
from graphsqueak.cli.label import label
from graphsqueak.cli.learn import learn
from graphsqueak.cli.merge import merge
from graphsqueak.cli.neighbors import neighbors
from graphsqueak.cli.resistance import resistance
from graphsqueak.cli.spam import spam
from graphsqueak.cli.sparsify import sparsify
from graphsqueak.errors import DistanceWeightsWarning, InputError, Message
from graphsqueak.system.atomic import Stopped, stoppable, written_paths
from graphsqueak.system.terminal import is_open_at_start, print_message, printable

app = typer.Typer(
    name="graphsqueak",
    help="Shrink, measure and label graphs that are too large for memory, from edge files.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    certify,
    demo,
    dictionary,
    example,
    info,
    label,
    learn,
    merge,
    neighbors,
    resistance,
    spam,
    sparsify,
):
    app.command(cls=PanelCommand)(command)


def _print_version(wanted: bool):
    if wanted:
        print(__version__)  # noqa: T201
        raise Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
):
    pass


def run(arguments=None):
    """Run one command and return its exit code. Without a command, the help is printed."""
    if arguments is None:
        arguments = sys.argv[1:]
    if not arguments:
        arguments = ["--help"]
    if "--json" in arguments and not is_open_at_start(1):
        return _print_error("--json prints on standard output, which is closed; leave it open", 2)
    try:
        with stoppable(), _warnings_in_one_line(arguments):
            return app(arguments, prog_name="graphsqueak", standalone_mode=False) or 0
    except Exit as stop:
        return stop.exit_code
    except TyperException as mistake:
        # Typer prefixes the reason with the kind of its own error.
        message = mistake.format_message().replace("Value error, ", "")
        return _print_error(message + _see_help(mistake), 2)
    except InputError as mistake:
        return _print_error(mistake.render(partial(as_option, options_of(arguments))), 2)
    except OSError as failure:
        name = failure.filename or "input or output"
        return _print_error(f"{name}: {failure.strerror or failure}", 2)
    except MemoryError as failure:
        reason = str(failure) or "the input is too large for this machine"
        return _print_error(f"out of memory: {reason}", 2)
    except Stopped as stop:
        return _print_error(_describe_stop(stop, arguments), 128 + stop.number)
    except (Abort, KeyboardInterrupt):
        return _print_error("interrupted", 130)


@contextmanager
def _warnings_in_one_line(arguments):
    """Print each warning as one line on standard error, with parameters as options."""

    def print_warning(message, category, filename, lineno, file=None, line=None):
        if isinstance(message, Message):
            message = message.render(partial(as_option, options_of(arguments)))
        _print_on_stderr(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", DistanceWeightsWarning)
        warnings.showwarning = print_warning
        yield


def options_of(arguments):
    """Return the options of the command in `arguments`, by the name of the parameter they set."""
    commands = typer.main.get_command(app).commands
    for name in arguments:
        if name in commands:
            return {option.name: option for option in commands[name].params}
    return {}


def as_option(options, parameter):
    """Write a parameter as the option that sets it, or as in Python if no option does.

    >>> from graphsqueak.errors import Parameter
    >>> options = options_of(["sparsify"])
    >>> as_option(options, Parameter("columns", ("user", "my friend")))
    "--columns 'user,my friend'"
    >>> as_option(options, Parameter("weighted", False)), as_option(options, Parameter("delimiter"))
    ('--no-weights', '--delimiter')
    >>> as_option(options, Parameter("n_probes", 3))
    'n_probes=3'
    """
    option = options.get(parameter.name)
    if option is None or option.param_type_name == "argument":
        return str(parameter)
    name = next(name for name in option.opts if name.startswith("--"))
    value = parameter.value
    if value is ... or value is True:
        return name
    if value is False and option.secondary_opts:
        return option.secondary_opts[0]
    if isinstance(value, tuple | list):
        value = ",".join(map(str, value))
    return f"{name} {shlex.quote(str(value))}"


def _see_help(mistake):
    """Return a pointer to the help of the command, if it is known."""
    # Only usage errors of Typer have a context.
    context = getattr(mistake, "ctx", None)
    return f" See {context.command_path} --help." if context else ""


def _describe_stop(stop, arguments):
    """Return the command that resumes a stopped run, or the files that it has written."""
    if stop.checkpoint is None:
        written = ", ".join(written_paths())
        return f"stopped; {written} had been written" if written else "stopped; nothing was written"
    words = ["graphsqueak", *arguments]
    if "--resume" not in words:
        words.append("--resume")
    command = " ".join(map(_quote, words))
    return f"stopped and saved in {stop.checkpoint}; resume with: {command}"


def _quote(word):
    r"""Return a word of a command that can be pasted into a shell, control characters escaped.

    >>> print(_quote("two words.tsv"), _quote("a\x1b'b.tsv"))
    'two words.tsv' $'a\x1b\'b.tsv'
    """
    if printable(word) == word:
        return shlex.quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{printable(escaped)}'"


def show_warning(message, category, filename, lineno, file=None, line=None):
    """Print a warning as a message of the program; a `warnings.showwarning`."""
    _print_error(f"warning: {message}", 0)


def _print_error(message, code):
    """Print a message of the program and return the exit code."""
    _print_on_stderr("graphsqueak: " + message)
    return code


def _print_on_stderr(message):
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    print_message(printable(line))
