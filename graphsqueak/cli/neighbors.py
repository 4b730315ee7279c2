"""graphsqueak neighbors: a similarity graph of points or mail, streamed to a file."""

import shlex
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from graphsqueak.cli.dry_run import describe_points, is_table_of_points, print_dry_run
from graphsqueak.cli.groups import DryRun, Force, NoHeaderOut, Printing, Seed, with_option_groups
from graphsqueak.cli.help_pages import ADVANCED, INPUT, OUTPUT
from graphsqueak.cli.output import (
    check_format,
    check_outputs,
    print_json,
    print_line,
    print_summary,
)
from graphsqueak.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """Which points are joined, and with which weight."""

    metric: Annotated[
        Literal["cosine", "euclidean"], typer.Option(help="Similarity or distance of points.")
    ] = "cosine"
    symmetrize: Annotated[
        Literal["union", "mutual"],
        typer.Option(help="Join two points if one is a neighbor of the other, or if both are."),
    ] = "union"
    weight: Annotated[
        Literal["thesis", "gaussian", "local", "cosine", "unit"] | None,
        typer.Option(
            help="Formula of the weights.", show_default="by the metric", rich_help_panel=ADVANCED
        ),
    ] = None
    sigma: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH",
            help="Width of the weights thesis and gaussian.",
            rich_help_panel=ADVANCED,
        ),
    ] = None
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Search for approximate neighbors with pynndescent."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class MailReading:
    """How mail becomes points."""

    layout: Annotated[
        Literal["trec", "folders", "sms", "mbox", "maildir", "csv", "auto"] | None,
        typer.Option(
            help="Read POINTS as mail in this layout.",
            show_default="detect",
            rich_help_panel=INPUT,
        ),
    ] = None
    deduplicate: Annotated[
        bool,
        typer.Option("--deduplicate", help="Mail: omit repeated mails.", rich_help_panel=INPUT),
    ] = False
    drop_common: Annotated[
        float,
        typer.Option(
            metavar="FRACTION",
            help="Mail: fraction of the most frequent words to drop.",
            rich_help_panel=INPUT,
        ),
    ] = 0.01
    drop_rare: Annotated[
        float,
        typer.Option(
            metavar="FRACTION",
            help="Mail: fraction of the rarest words to drop.",
            rich_help_panel=INPUT,
        ),
    ] = 0.01
    min_mails: Annotated[
        int,
        typer.Option(
            metavar="N", help="Mail: drop words in fewer than N mails.", rich_help_panel=INPUT
        ),
    ] = 1
    sublinear: Annotated[
        bool,
        typer.Option(
            "--sublinear", help="Mail: use 1 + log(tf) instead of tf.", rich_help_panel=INPUT
        ),
    ] = False
    punctuation: Annotated[
        bool,
        typer.Option(
            "--punctuation",
            help="Mail: count punctuation (!!, $) and stop words as words.",
            rich_help_panel=INPUT,
        ),
    ] = False
    headers: Annotated[
        bool,
        typer.Option(
            "--headers",
            help="Mail: join mails with similar headers (their routes) as well.",
            rich_help_panel=INPUT,
        ),
    ] = False

    def load(self, path):
        """Return the mails of a corpus as points."""
        from graphsqueak.datasets import load_mail

        return load_mail(
            path,
            layout=self.layout or "auto",
            deduplicate=self.deduplicate,
            drop_common=self.drop_common,
            drop_rare=self.drop_rare,
            min_mails=self.min_mails,
            sublinear=self.sublinear,
            punctuation=self.punctuation,
            headers=self.headers,
        )


@with_option_groups
def neighbors(
    points: Annotated[
        str,
        typer.Argument(
            metavar="POINTS",
            help="Points (.csv, .tsv, .parquet, .npy, .npz), or mail: a folder of .eml files, "
            "mbox, Maildir, a csv of texts, TREC 2007, SpamAssassin or Enron folders, SMS "
            "collection.",
        ),
    ],
    n_neighbors: Annotated[
        int, typer.Option("-k", "--neighbors", metavar="K", help="Number of neighbors per point.")
    ],
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", metavar="PATH", help="Edge file to write.", rich_help_panel=OUTPUT
        ),
    ],
    label_template: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Mail: write a table of all mails to fill in: node, label (1 spam, 0 ham, or "
            "empty), subject, sender.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    similarity: Similarity,
    mail: MailReading,
    printing: Printing,
    force: Force = False,
    dry_run: DryRun = False,
    no_header_out: NoHeaderOut = False,
    random_state: Seed = None,
):
    """Join every point to its nearest neighbors and write the edges.

    The graph is streamed, never in memory; a temporary file takes 12 bytes per neighbor. For mail,
    --label-template writes a table to fill in: a few labels are enough for graphsqueak label.

    Examples:
      graphsqueak neighbors points.npy -k 10 -o similar.parquet
      graphsqueak neighbors points.npy -k 10 --metric euclidean -o similar.tsv
      graphsqueak neighbors Maildir -k 5 -o similar.tsv --label-template labels.csv
    """
    import time

    from graphsqueak.mail import SecondView, TwoViews
    from graphsqueak.sources import neighbor_edges, write_edges
    from graphsqueak.sources.edge_source import EdgeSource
    from graphsqueak.system.atomic import written_together
    from graphsqueak.system.memory import peak_rss
    from graphsqueak.system.progress import reporter

    began = time.perf_counter()
    outputs = [path for path in (out, label_template) if path is not None]
    for path in outputs:
        check_format(path)
    check_outputs(
        {"--out": out, "--label-template": label_template},
        [points],
        printing=printing,
        force=force,
        is_dry_run=dry_run,
    )
    if dry_run:
        description = describe_points(points, mail.layout)
        print_dry_run([description], outputs, as_json=printing.as_json)
        return
    with written_together():
        with reporter(printing.progress, f"reading {points}"):
            rows, ids, counts, header_points = _read(points, mail, label_template)
        source: EdgeSource = neighbor_edges(
            rows,
            n_neighbors,
            metric=similarity.metric,
            symmetrize=similarity.symmetrize,
            weight=similarity.weight,
            sigma=similarity.sigma,
            approximate=similarity.approximate,
            ids=ids,
            progress=printing.progress,
            random_state=random_state,
        )
        if header_points is not None:
            by_header = SecondView(header_points, n_neighbors, ids=ids, progress=printing.progress)
            source = TwoViews(source, by_header)
        has_weights = similarity.weight != "unit" or header_points is not None
        write_edges(source, out, weights=has_weights, header=not no_header_out)
    if not printing.quiet:
        names = "named by the input" if ids is not None else "numbered from 0"
        n_points, n_coordinates = rows.shape
        print_line(
            f"{points}: {n_points:,} points of {n_coordinates:,} coordinates, {names}",
            on_stderr=True,
        )
    record = {
        "nodes": source.n_nodes,
        "edges": source.n_edges_read,
        "zero_weights": source.n_zero_weights,
        "neighbors": n_neighbors,
        "seconds": time.perf_counter() - began,
        "peak_rss_bytes": peak_rss(),
        "seed": random_state,
        **counts,
    }
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        notes = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        print_summary(
            f"{record['edges']:,} edges between {record['nodes']:,} points in "
            f"{record['seconds']:.1f} s, in {out}" + (f" ({notes})" if notes else ""),
            out,
        )
        if label_template is not None:
            print_line(_next_command(label_template, out, counts["unlabeled"]))


def _read(path, mail, label_template):
    """Return points, ids, counts of what was read, and the points of mail headers or None."""
    from graphsqueak.sources.neighbors.point_files import read_points

    if is_table_of_points(path, mail.layout):
        if label_template is not None:
            raise InputError(f"--label-template is for mail; {path} is a table of points")
        if mail.headers:
            raise InputError(f"--headers is for mail; {path} is a table of points")
        rows, ids = read_points(path)
        return rows, ids, {}, None
    mails = mail.load(path)
    counts = dict(mails.counts)
    if label_template is not None:
        counts["unlabeled"] = _write_label_template(mails, label_template)
    return mails.points, mails.ids, counts, mails.headers


def _write_label_template(mails, path):
    """Write a row per mail, with an empty label if it is unknown; return how many are empty."""
    import numpy as np

    from graphsqueak.sources import write_columns

    is_unknown = mails.labels < 0
    label = np.where(is_unknown, None, mails.labels) if is_unknown.any() else mails.labels
    notes = {name: np.where(note == "", None, note) for name, note in mails.notes.items()}
    write_columns({"node": mails.ids, "label": label, **notes}, path)
    return int(is_unknown.sum())


def _next_command(label_template, out, n_unlabeled):
    command = shlex.join(["graphsqueak", "label", out, label_template, "-o", "labeled.csv"])
    if n_unlabeled == 0:
        return f"All labels are in {label_template}. Next: {command}"
    return f"Fill in some of the {n_unlabeled:,} empty labels in {label_template}. Then: {command}"
