"""graphsqueak example: write the small data sets that the documentation uses."""

from typing import Annotated, Literal

import typer

from graphsqueak.cli.groups import Force, Printing, with_option_groups
from graphsqueak.cli.help_pages import OUTPUT
from graphsqueak.cli.output import print_json, print_line, print_table

# The keys of datasets.EXAMPLES, which --help does not import since that takes a second.
NAMES = ("events", "karate", "logins", "mail", "social", "spam")


@with_option_groups
def example(
    name: Annotated[
        Literal[NAMES],  # type: ignore[valid-type]
        typer.Argument(metavar="NAME", help=f"Data set: {', '.join(NAMES)}."),
    ],
    folder: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="Folder for the files.",
            rich_help_panel=OUTPUT,
        ),
    ] = ".",
    force: Force = False,
    *,
    printing: Printing,
):
    """Write a small data set that the documentation uses.

    social: friendships in groups that a few friendships connect (edges.tsv). logins: accounts and
    their devices, with fraud rings (logins.csv), and some known accounts (known.csv). spam: mails
    joined to similar mails (mails.parquet), and some known mails (labels.csv). mail: texts of mails
    (mails.csv, later.csv), and some known mails (known.csv). events: contacts with times
    (events.csv). karate: Zachary's karate club (karate.tsv).

    The files are the same in every run. A command to begin with is printed.

    Examples:
      graphsqueak example social
      graphsqueak example logins -o fraud
      graphsqueak example karate --force --quiet
    """
    from graphsqueak.datasets import EXAMPLES, write_example
    from graphsqueak.system.memory import readable_size

    paths = write_example(name, folder, force=force)
    chosen = EXAMPLES[name]
    if printing.as_json:
        files = [str(path) for path in paths]
        print_json({"name": name, "files": files, "command": chosen.command})
    elif printing.text:
        print_line(f"{chosen.summary}:")
        descriptions = chosen.files.values()
        print_table(
            {
                str(path): f"{description} ({readable_size(path.stat().st_size)})"
                for path, description in zip(paths, descriptions, strict=True)
            }
        )
        place = "" if folder == "." else f" in {folder}"
        print_line(f"Try{place}: {chosen.command}")
