"""graphsqueak neighbors: points or a corpus of mail to a similarity graph, streamed to a file."""

from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.cli.dry_run import DryRun, beginning_of_points, tell_dry_run

__all__ = ["neighbors"]


def neighbors(
    points: Annotated[
        str,
        typer.Argument(
            metavar="POINTS",
            help="Points (.csv, .tsv, .parquet, .npy, .npz), or a corpus of mail: TREC 2007, "
            "SpamAssassin or Enron folders, SMS collection, mbox, Maildir.",
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
    labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Mail: write node and label (1 spam) there.")
    ] = None,
    force: options.Force = False,
    no_header_out: options.NoHeaderOut = False,
    dry_run: DryRun = False,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Join every point to its nearest neighbors and write the edges, batch by batch.

    The graph is never held in memory; a temporary file takes 12 bytes a neighbor.

    Example: graphsqueak neighbors points.npy -k 10 -o edges.parquet
    """
    import time

    from graphsqueak.sources import neighbor_edges, write_edges
    from graphsqueak.system.memory import peak_rss

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
    words |= {"min_mails": min_mails, "sublinear": sublinear, "marks": marks}
    rows, ids, counts = _opened(points, layout, deduplicate, labels, words)
    source = neighbor_edges(
        rows,
        n_neighbors,
        metric=metric,
        symmetrize=symmetrize,
        weight=weight,
        sigma=sigma,
        approximate=approximate,
        ids=ids,
        progress=options.shows_progress(quiet=quiet, as_json=as_json),
        random_state=seed,
    )
    write_edges(source, out, weights=weight != "unit", header=not no_header_out)
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


def _opened(path, layout, deduplicate, labels, words):
    """Rows, ids and what was counted on the way."""
    from pathlib import Path

    from graphsqueak.datasets import load_mail
    from graphsqueak.errors import InputError
    from graphsqueak.sources import write_columns
    from graphsqueak.sources.neighbors.point_files import POINT_SUFFIXES, read_points

    is_table = Path(path).suffix.lower() in POINT_SUFFIXES and not Path(path).is_dir()
    if layout is None and is_table:
        if labels is not None:
            raise InputError("--labels is for mail; a table's labels are in the table")
        return *read_points(path), {}
    mails = load_mail(path, layout=layout or "auto", deduplicate=deduplicate, **words)
    if labels is not None:
        known = mails.labels >= 0
        write_columns({"node": mails.ids[known], "label": mails.labels[known]}, labels)
    return mails.points, mails.ids, mails.counts
