"""graphsqueak sparsify: one pass over an edge file, a small reweighted graph out."""

import time
from typing import Annotated

import typer

from graphsqueak.cli.options import (
    BadLine,
    Edges,
    Header,
    Ids,
    Json,
    Quiet,
    Seed,
    open_edges,
    print_json,
    print_line,
    shows_progress,
)

__all__ = ["sparsify"]


def sparsify(
    edges: Edges,
    out: Annotated[str, typer.Option("-o", "--out", help="Where to write the sparsifier.")],
    epsilon: Annotated[
        float | None, typer.Option(help="Accuracy from which the number of edges is predicted.")
    ] = None,
    n_edges: Annotated[int | None, typer.Option("--edges", help="Edges to keep, at most.")] = None,
    keep: Annotated[float | None, typer.Option(help="Share of the edges to keep.")] = None,
    method: Annotated[
        str, typer.Option(help="fast, or thesis: Algorithm 11 with its proof constants.")
    ] = "fast",
    ridge: Annotated[float, typer.Option(help="gamma of an (eps, gamma)-sparsifier.")] = 0.0,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Save the state there now and then.")
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often.")] = 60.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    ids: Ids = "auto",
    header: Header = None,
    on_bad_line: BadLine = "error",
    seed: Seed = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Keep a small, reweighted part of the edges that behaves like all of them.

    One pass in fixed memory. All nodes and components stay. Give exactly one of --epsilon, --edges
    and --keep. The predicted accuracy holds for dense graphs.

    Example: graphsqueak sparsify edges.tsv.gz -o sparse.tsv --keep 0.05
    """
    from graphsqueak.sources import write_edges
    from graphsqueak.sparsify.one_call import run_stream

    began = time.perf_counter()
    settings = {"n_edges": n_edges, "epsilon": epsilon, "keep": keep}
    settings |= {"method": method, "ridge": ridge}
    stream = _opened(settings, seed, checkpoint, resume)
    source = open_edges(edges, ids=ids, header=header, on_bad_line=on_bad_line)
    run_stream(
        stream,
        source,
        progress=shows_progress(quiet=quiet, as_json=as_json),
        checkpoint=checkpoint,
        every=every,
    )
    result = stream.sparsifier()
    write_edges(result, out, weights=True)
    record = _record(stream, source, result, time.perf_counter() - began, seed)
    if as_json:
        print_json(record)
    elif not quiet:
        print_line(
            f"{record['edges_kept']:,} of {record['edges_read']:,} edges on {record['nodes']:,} "
            f"nodes in {record['seconds']:.1f} s, predicted accuracy "
            f"{record['epsilon_predicted']:.2g} (not certified), in {out}"
        )


def _opened(settings, seed, checkpoint, resume):
    from pathlib import Path

    from graphsqueak.sparsify import StreamSparsifier
    from graphsqueak.validation import InputError

    fresh = StreamSparsifier(**settings, random_state=seed)
    if not resume:
        return fresh
    if checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, the file to go on from")
    if not Path(checkpoint).exists():
        return fresh  # stopped before the first checkpoint
    stream = StreamSparsifier.load(checkpoint)
    for name, asked in settings.items():
        if getattr(stream, name) != asked:
            raise InputError(
                f"{checkpoint} was written with {name}={getattr(stream, name)}, not {asked}; "
                "resume with the same options"
            )
    if seed is not None and not stream.same_seed(fresh):
        raise InputError(f"{checkpoint} was written with another --seed; resume with the same one")
    return stream


def _record(stream, source, result, seconds, seed):
    from graphsqueak.sources.summary import peak_rss

    return {
        "nodes": stream.n_nodes_,
        "edges_read": stream.n_edges_seen_,
        "edges_kept": result.n_edges,
        "seconds": seconds,
        "edges_per_second": stream.n_edges_seen_ / seconds,
        "peak_rss_bytes": peak_rss(),
        "shrinks": stream.n_shrinks_,
        "epsilon_predicted": stream.epsilon_predicted_,
        "self_loops": source.n_self_loops,
        "zero_weights": source.n_zero_weights,
        "bad_lines": source.n_bad_lines,
        "components": stream.n_components_,
        "seed": seed,
    }
