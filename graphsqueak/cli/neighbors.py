"""graphsqueak neighbors: points or a corpus of mail to a similarity graph, streamed to a file."""

import shlex
from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.cli.dry_run import (
    DryRun,
    beginning_of_points,
    is_table_of_points,
    tell_dry_run,
)

__all__ = ["neighbors"]


def neighbors(
    points: Annotated[
        str,
        typer.Argument(
            metavar="POINTS",
            help="Points (.csv, .tsv, .parquet, .npy, .npz), or mails: a folder of .eml, mbox, "
            "Maildir, a csv of texts, TREC 2007, SpamAssassin or Enron folders, SMS collection.",
        ),
    ],
    n_neighbors: Annotated[int, typer.Option("-k", "--neighbors", help="Neighbors of a point.")],
    out: Annotated[str, typer.Option("-o", "--out", help="Edge file to write.")],
    metric: Annotated[str, typer.Option(help="cosine or euclidean.")] = "cosine",
    symmetrize: Annotated[
        str, typer.Option(help="union: either is a neighbor of the other; mutual: both are.")
    ] = "union",
    weight: Annotated[
        str | None,
        typer.Option(help="thesis, gaussian, local, cosine or unit. [default: by the metric]"),
    ] = None,
    sigma: Annotated[float | None, typer.Option(help="Width, for thesis and gaussian.")] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Nearly the nearest, with pynndescent.")
    ] = False,
    layout: Annotated[
        str | None, typer.Option(help="Mail: trec, folders, sms, mbox, maildir, csv or auto.")
    ] = None,
    deduplicate: Annotated[
        bool, typer.Option("--deduplicate", help="Mail: leave out repeated ones.")
    ] = False,
    drop_common: Annotated[
        float, typer.Option(help="Mail: share of the commonest words to drop.")
    ] = 0.01,
    drop_rare: Annotated[
        float, typer.Option(help="Mail: share of the rarest words to drop.")
    ] = 0.01,
    min_mails: Annotated[int, typer.Option(help="Mail: drop words in fewer mails.")] = 1,
    sublinear: Annotated[
        bool, typer.Option("--sublinear", help="Mail: 1 + log(tf) in place of tf.")
    ] = False,
    marks: Annotated[
        bool, typer.Option("--marks", help="Mail: count marks (!!, $) and stop words, too.")
    ] = False,
    headers: Annotated[
        bool,
        typer.Option("--headers", help="Mail: join by headers, too: the ways that mails came."),
    ] = False,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Mail: write a table of all mails there: node, label (1 spam, 0 ham, empty to "
            "be filled in), subject, sender.",
        ),
    ] = None,
    force: options.Force = False,
    no_header_out: options.NoHeaderOut = False,
    dry_run: DryRun = False,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Join every point to its nearest neighbors and write the edges, batch by batch.

    The graph is never held in memory; a temporary file takes 12 bytes a neighbor. Of mails,
    --labels writes a table to fill in: a few labels are enough for graphsqueak label.

    Example: graphsqueak neighbors points.npy -k 10 -o edges.parquet
    """
    import time

    from graphsqueak.sources import neighbor_edges, write_edges
    from graphsqueak.sources.edge_source import EdgeSource
    from graphsqueak.sources.neighbors.views import SecondView, TwoViews
    from graphsqueak.system.atomic import written_together
    from graphsqueak.system.memory import peak_rss
    from graphsqueak.system.progress import reporter

    began = time.perf_counter()
    for table in (out, labels):
        if table is not None:
            options.check_table(table)
    options.check_outputs(
        {"--out": out, "--labels": labels},
        [points],
        force=force or dry_run,
        quiet=quiet,
        as_json=as_json,
    )
    if dry_run:
        writes = [out] if labels is None else [out, labels]
        reads = [beginning_of_points(points, layout)]
        tell_dry_run(reads, writes, force=force, as_json=as_json)
        return
    words = {"drop_common": drop_common, "drop_rare": drop_rare}
    words |= {
        "min_mails": min_mails,
        "sublinear": sublinear,
        "punctuation": marks,
        "headers": headers,
    }
    progress = options.shows_progress(quiet=quiet, as_json=as_json)
    with written_together():
        with reporter(progress, f"reading {points}"):
            rows, ids, counts, ways = _opened(points, layout, deduplicate, labels, words)
        source: EdgeSource = neighbor_edges(
            rows,
            n_neighbors,
            metric=metric,
            symmetrize=symmetrize,
            weight=weight,
            sigma=sigma,
            approximate=approximate,
            ids=ids,
            progress=progress,
            random_state=seed,
        )
        if ways is not None:
            source = TwoViews(source, SecondView(ways, n_neighbors, ids=ids, progress=progress))
        with_weights = weight != "unit" or ways is not None
        write_edges(source, out, weights=with_weights, header=not no_header_out)
    if not quiet:
        named = "named by the input" if ids is not None else "numbered from 0"
        said = f"{points}: {rows.shape[0]:,} points of {rows.shape[1]:,} coordinates, {named}"
        options.print_line(said, on_stderr=True)
    record = {
        "nodes": source.n_nodes,
        "edges": source.n_edges_read,
        "zero_weights": source.n_zero_weights,
        "neighbors": n_neighbors,
        "seconds": time.perf_counter() - began,
        "peak_rss_bytes": peak_rss(),
        "seed": seed,
        **counts,
    }
    if as_json:
        options.print_json(record)
    elif not quiet:
        read = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        options.print_summary(
            f"{record['edges']:,} edges between {record['nodes']:,} points in "
            f"{record['seconds']:.1f} s, in {out}" + (f" ({read})" if read else ""),
            out,
        )
        if labels is not None:
            options.print_line(_what_to_label(labels, out, counts))


def _opened(path, layout, deduplicate, labels, words):
    """Rows, ids, what was counted on the way, and the points of headers, if any."""
    from graphsqueak.datasets import load_mail
    from graphsqueak.errors import InputError
    from graphsqueak.sources.neighbors.point_files import read_points

    if is_table_of_points(path, layout):
        if labels is not None:
            raise InputError("--labels is for mail; a table's labels are in the table")
        if words["headers"]:
            raise InputError(f"--headers is for mail; {path} holds points")
        return *read_points(path), {}, None
    mails = load_mail(path, layout=layout or "auto", deduplicate=deduplicate, **words)
    counts = dict(mails.counts)
    if labels is not None:
        counts["unlabeled"] = _write_labels(mails, labels)
    return mails.points, mails.ids, counts, mails.headers


def _write_labels(mails, path):
    """Write all mails, those without a label with an empty one; return how many these are."""
    import numpy as np

    from graphsqueak.sources import write_columns

    unknown = mails.labels < 0
    label = np.where(unknown, None, mails.labels) if unknown.any() else mails.labels
    notes = {name: np.where(note == "", None, note) for name, note in mails.notes.items()}
    write_columns({"node": mails.ids, "label": label, **notes}, path)
    return int(unknown.sum())


def _what_to_label(labels, out, counts):
    command = shlex.join(["graphsqueak", "label", out, labels, "-o", "labeled.csv"])
    if not counts["unlabeled"]:
        return f"All labels are in {labels}. Next: {command}"
    return f"Fill in some of the {counts['unlabeled']:,} empty labels in {labels}. Then: {command}"
