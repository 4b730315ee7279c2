"""Help of a command, with options in panels: the common ones with --help, all with --help-all.

The help of a command is its docstring: a summary, paragraphs of details, and a last paragraph
"Examples:" with one command per line. --help prints the summary, the examples and the panels
`COMMON_PANELS`, and names the options of other panels. --help-all prints everything.
"""

import inspect
import re
import textwrap
from typing import Annotated, NamedTuple

import typer
from typer.core import TyperCommand
from typer.exceptions import Exit

# Panels. Options that name no panel are in the first.
GENERAL = "Options"
SIZE = "Size"
OUTPUT = "Output"
INPUT = "Input"
TIME = "Time"
PROJECTION = "Projection"
PARALLEL = "Parallel"
ADVANCED = "Advanced"
COMMON_PANELS = (GENERAL, SIZE, OUTPUT)
OTHER_PANELS = (INPUT, TIME, PROJECTION, PARALLEL, ADVANCED)

_HELP_ALL_KEY = "graphsqueak.help_all"


class HelpText(NamedTuple):
    """The parts of the help of a command."""

    summary: str
    details: str
    examples: list[str]


def split_help(text):
    """Return the summary, the details and the examples of a docstring.

    >>> split_help("Sort edges.\\n\\nStable.\\n\\nExamples:\\n  sort a.tsv\\n  sort b.tsv")
    HelpText(summary='Sort edges.', details='Stable.', examples=['sort a.tsv', 'sort b.tsv'])
    """
    body, _, examples = inspect.cleandoc(text).partition("Examples:\n")
    summary, _, details = body.strip().partition("\n\n")
    lines = [line.strip() for line in examples.splitlines()]
    return HelpText(summary, details, [line for line in lines if line])


def panel_of(parameter):
    """Return the name of the panel in which an option is listed."""
    return getattr(parameter, "rich_help_panel", None) or GENERAL


class PanelCommand(TyperCommand):
    """Command whose options are listed in panels."""

    def format_usage(self, ctx, formatter):
        """Write the usage line."""
        arguments = [one.metavar for one in _arguments(self, ctx)]
        formatter.write_usage(ctx.command_path, " ".join([*arguments, "[OPTIONS]"]))

    def format_help_text(self, ctx, formatter):
        """Write the summary, the details with --help-all, and the examples."""
        text = split_help(self.help or "")
        paragraphs = [text.summary]
        if _is_complete(ctx):
            paragraphs += text.details.split("\n\n")
        for paragraph in paragraphs:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
        with formatter.section("Examples"):
            for example in text.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")

    def format_options(self, ctx, formatter):
        """Write the arguments and the panels; with --help, the names in other panels."""
        arguments = _arguments(self, ctx)
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(one.metavar, one.help) for one in arguments])
        for panel in COMMON_PANELS + (OTHER_PANELS if _is_complete(ctx) else ()):
            options = _options(self, ctx, panel)
            if options:
                with formatter.section(panel):
                    formatter.write_dl([_describe(option, ctx) for option in options])
        has_more = any(_options(self, ctx, panel) for panel in OTHER_PANELS)
        if has_more and not _is_complete(ctx):
            with formatter.section("More options, described by --help-all"):
                for panel in OTHER_PANELS:
                    names = [option.opts[-1] for option in _options(self, ctx, panel)]
                    if names:
                        _write_names(panel, names, formatter)


def _arguments(command, ctx):
    return [one for one in command.get_params(ctx) if one.param_type_name == "argument"]


def _options(command, ctx, panel):
    """Return the options of a panel, except those that print help."""
    return [
        one
        for one in command.get_params(ctx)
        if one.param_type_name == "option" and panel_of(one) == panel and not one.is_eager
    ]


def _describe(option, ctx):
    """Return the names of an option and its help."""
    names, text = option.get_help_record(ctx)
    # Typer puts descriptions of defaults, unlike values, in parentheses.
    text = re.sub(r"\[default: \((.*?)\)", r"[default: \1", text)
    # Ranges are about the value, which has a metavar and is not called x.
    text = re.sub(r"([\d.]+)<=x<=([\d.]+)\]", r"\1 to \2]", text)
    return names, re.sub(r"x>=([\d.]+)\]", r"at least \1]", text)


def _write_names(panel, names, formatter):
    """Write names of options in a column next to the panel, never broken at hyphens."""
    column = formatter.current_indent + max(map(len, OTHER_PANELS)) + 2
    lines = textwrap.wrap(
        ", ".join(names),
        width=formatter.width,
        initial_indent=f"{'':{formatter.current_indent}}{panel}".ljust(column),
        subsequent_indent=" " * column,
        break_on_hyphens=False,
    )
    formatter.write("\n".join(lines) + "\n")


def _is_complete(ctx):
    return ctx.meta.get(_HELP_ALL_KEY, False)


def _print_complete_help(ctx: typer.Context, is_wanted: bool):
    if is_wanted and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL_KEY] = True
        print(ctx.get_help())  # noqa: T201
        raise Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        is_eager=True,
        callback=_print_complete_help,
        help="Show all options and exit.",
    ),
]
