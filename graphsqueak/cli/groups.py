"""Groups of options that several commands share, and how a command gets them.

A group is a dataclass whose fields are annotated as Typer options. A command takes the whole group
as one argument,

    @with_option_groups
    def certify(edges: Edges, *, reading: Reading, printing: Printing): ...

and `with_option_groups` replaces this argument by the options of the fields, so that Typer parses
them. Each option names the panel in which `help_pages` lists it.
"""

import secrets
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated

import typer

from graphsqueak.cli.help_pages import ADVANCED, OUTPUT, PARALLEL, SIZE, TIME, HelpAll
from graphsqueak.cli.output import print_line
from graphsqueak.errors import InputError
from graphsqueak.system.terminal import print_message


def with_option_groups(command):
    """Return the command with the fields of its option groups as parameters, and --help-all.

    If it has a seed and none is given, one is drawn and printed, so that the run can be repeated.

    Examples
    --------
    >>> @with_option_groups
    ... def command(path: str, *, printing: Printing):
    ...     return path, printing
    >>> list(signature(command).parameters)
    ['path', 'as_json', 'quiet', 'help_all']
    >>> command(path="a.tsv", as_json=True, quiet=False, help_all=False)
    ('a.tsv', Printing(as_json=True, quiet=False))
    """
    own = signature(command).parameters.values()
    groups = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
    parameters = []
    for parameter in own:
        if parameter.name in groups:
            parameters += signature(parameter.annotation).parameters.values()
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
    help_all = Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
    parameters.append(help_all)

    @wraps(command)
    def run(**arguments):
        # Its callback has ended the command if it was given.
        del arguments["help_all"]
        values = {}
        for name, group in groups.items():
            values[name] = group(
                **{field.name: arguments.pop(field.name) for field in fields(group)}
            )
        # A resumed run has the seed of its checkpoint.
        is_resumed = any(
            group.is_resumable for group in values.values() if isinstance(group, Checkpointing)
        )
        is_drawn = arguments.get("random_state", 0) is None and not is_resumed
        if is_drawn:
            arguments["random_state"] = secrets.randbits(32)
        found = command(**arguments, **values)
        is_printed = any(group.text for group in values.values() if isinstance(group, Printing))
        if is_drawn and is_printed and not arguments.get("dry_run"):
            seed = arguments["random_state"]
            print_message(f"seed {seed}; --seed {seed} gives the same result again")
        return found

    run.__signature__ = Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def fraction(text):
    """Parse a fraction: 0.3 or 30%.

    >>> fraction("0.3"), fraction("30%"), fraction("2.5 %")
    (0.3, 0.3, 0.025)
    """
    number = str(text).strip()
    is_percentage = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a fraction; give 0.3 or 30%") from None
    return value / 100 if is_percentage else value


def time_span(text):
    """Parse a duration: a number, or a number with a unit of time."""
    from graphsqueak.sources.times import as_time_span

    try:
        return as_time_span("DURATION", text)
    except InputError as error:
        raise typer.BadParameter(error.render(lambda span: repr(span.value))) from None


def memory_size(text):
    """Parse a size of memory with its unit, in bytes.

    >>> memory_size("2GB"), memory_size("512MiB")
    (2000000000, 536870912)
    """
    from graphsqueak.system.memory import size_in_bytes

    if isinstance(text, int):
        return text
    if text.strip().replace(".", "", 1).isdecimal():
        raise typer.BadParameter(f"{text} has no unit; give {text}GB, {text}GiB or {text}MB")
    try:
        return size_in_bytes(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None


# Options of a single field, for commands that do not need a whole group.
Keep = Annotated[
    float | None,
    typer.Option(
        metavar="FRACTION",
        parser=fraction,
        help="Keep this fraction of the edges: 0.05 or 5%.",
        rich_help_panel=SIZE,
    ),
]
NEdges = Annotated[
    int | None, typer.Option(metavar="N", help="Keep at most N edges.", rich_help_panel=SIZE)
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        metavar="ERROR",
        help="Keep as many edges as this error of cuts needs: 0.5 allows 50 %.",
        rich_help_panel=SIZE,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        help="Random seed. The same seed gives the same result.",
        show_default="drawn and printed",
        rich_help_panel=ADVANCED,
    ),
]
# For commands with a seed of their own, which is shown as the default.
FixedSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        help="Random seed. The same seed gives the same result.",
        rich_help_panel=ADVANCED,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite outputs that already exist.", rich_help_panel=OUTPUT),
]
NoHeaderOut = Annotated[
    bool,
    typer.Option(
        "--no-header-out",
        help="Write text without a line of column names, as igraph and networkx expect it.",
        rich_help_panel=ADVANCED,
    ),
]
TableOut = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="PATH",
        help="Table to write: .tsv, .csv, .parquet or .arrow.",
        rich_help_panel=OUTPUT,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Check the options, the beginning of the input and the output paths, then stop.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Number of edges to keep, given in one of three ways."""

    keep: Keep = None
    n_edges: NEdges = None
    epsilon: Epsilon = None

    def check_exactly_one(self):
        """Raise an error unless exactly one of the three options is given.

        >>> Size(keep=0.05).check_exactly_one()
        """
        given = {"--keep": self.keep, "--n-edges": self.n_edges, "--epsilon": self.epsilon}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            raise InputError(
                f"specify exactly one of --keep, --n-edges and --epsilon, not "
                f"{' and '.join(names) or 'none'}: --keep 5% keeps 5 % of the edges, "
                "--n-edges 100000 at most that number, --epsilon 0.5 as many as an error of 50 % "
                "needs"
            )

    def budget(self):
        """Return the `Budget` of the library."""
        from graphsqueak.sparsifiers.budget import Budget

        return Budget(n_edges=self.n_edges, epsilon=self.epsilon, keep=self.keep)


@dataclass(frozen=True, kw_only=True)
class Printing:
    """What a command prints."""

    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object on standard output.", rich_help_panel=OUTPUT
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", help="Print no progress and no summary.", rich_help_panel=OUTPUT),
    ] = False

    @property
    def progress(self):
        """Whether progress is shown: as a bar on a terminal, as lines elsewhere."""
        return not self.quiet and not self.as_json

    @property
    def text(self):
        """Whether a summary for people is printed."""
        return not self.quiet and not self.as_json


@dataclass(frozen=True, kw_only=True)
class Window:
    """Recent edges only, or recent edges with more weight."""

    window: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=time_span,
            help="With --time: count only the edges of the last DURATION, such as 7d.",
            rich_help_panel=TIME,
        ),
    ] = None
    half_life: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=time_span,
            help="With --time: halve the weight of an edge every DURATION. A number is in the unit "
            "of the column; 45s, 30m, 12h, 7d and 2w need dates or Unix seconds.",
            rich_help_panel=TIME,
        ),
    ] = None

    def check(self, time):
        """Raise an error if edges have no times."""
        if time is None and (self.window is not None or self.half_life is not None):
            raise InputError("--window and --half-life need the times of edges; give --time COLUMN")


@dataclass(frozen=True, kw_only=True)
class Checkpointing:
    """Saved state of a run, from which it can be resumed."""

    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Save the state to this file at intervals; a merge tree saves its parts in a "
            "folder.",
            rich_help_panel=ADVANCED,
        ),
    ] = None
    checkpoint_interval: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Time between two saves of --checkpoint.",
            rich_help_panel=ADVANCED,
        ),
    ] = 60.0
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue from the state in --checkpoint.", rich_help_panel=ADVANCED
        ),
    ] = False

    @property
    def is_resumable(self):
        """Whether the run is resumed and there is a state to resume."""
        from graphsqueak.system.remote import exists

        return self.resume and self.checkpoint is not None and exists(self.checkpoint)

    @property
    def resumed_path(self):
        """The checkpoint that is resumed, whose run may replace its outputs; None otherwise."""
        return self.checkpoint if self.resume else None

    def note_if_missing(self, *, quiet):
        """Print a note if there is nothing to resume.

        This is not an error, so that a command with --resume can be repeated until it succeeds.
        """
        if self.resume and self.checkpoint is not None and not self.is_resumable and not quiet:
            note = f"note: {self.checkpoint} does not exist; starting from the beginning"
            print_line(note, on_stderr=True)


@dataclass(frozen=True, kw_only=True)
class Parallel:
    """Parts of the input that are processed separately and merged."""

    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Process parts of the input in N processes.",
            rich_help_panel=PARALLEL,
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Process parts of the input on this Dask cluster: tcp://host:8786.",
            rich_help_panel=PARALLEL,
        ),
    ] = None
    tree: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE",
            help="Shape of the merge tree: guided, balanced, sequential, a number of states per "
            "merge, or auto (guided; balanced with --memory).",
            show_default="auto with --workers or --scheduler",
            rich_help_panel=PARALLEL,
        ),
    ] = None
    n_parts: Annotated[
        int | None,
        typer.Option(
            "--parts",
            metavar="N",
            min=1,
            help="Approximate number of parts.",
            rich_help_panel=PARALLEL,
        ),
    ] = None
    memory_limit: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            parser=memory_size,
            help="Memory limit of the process, or of each worker: 2GB or 512MiB. Runs that cannot "
            "keep to it are refused.",
            rich_help_panel=PARALLEL,
        ),
    ] = None
