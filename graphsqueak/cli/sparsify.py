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
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Measure the accuracy on the whole file; with --epsilon, correct it "
            "(default: with --epsilon, unless the input is a pipe).",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="The certificate may fail with this.")] = 0.01,
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
    and --keep. --epsilon is measured, by reading the file again, and met: if the first run misses
    it, another one with more edges follows. On a pipe the accuracy is predicted, for dense graphs.

    Example: graphsqueak sparsify edges.tsv.gz -o sparse.tsv --keep 0.05
    """
    from graphsqueak.sources import write_edges
    from graphsqueak.sparsify.correction import Corrected, corrected
    from graphsqueak.sparsify.running import run_stream

    began = time.perf_counter()
    settings = {"n_edges": n_edges, "epsilon": epsilon, "keep": keep}
    settings |= {"method": method, "ridge": ridge}
    stream = _opened(settings, seed, checkpoint, resume)
    source = open_edges(edges, ids=ids, header=header, on_bad_line=on_bad_line)
    goal = epsilon if method == "fast" else None
    certify = _certifies(certify, source, goal)
    progress = shows_progress(quiet=quiet, as_json=as_json)
    run_stream(stream, source, progress=progress, checkpoint=checkpoint, every=every)
    rate = stream.n_edges_seen_ / (time.perf_counter() - began)
    if certify:
        made = corrected(
            source, stream, epsilon=goal, delta=delta, random_state=seed, progress=progress
        )
    else:
        made = Corrected(stream.sparsifier(), None, stream, 1)
    write_edges(made.sparsifier, out, weights=True)
    record = _record(made, source, seed)
    record |= {"seconds": time.perf_counter() - began, "edges_per_second": rate}
    if as_json:
        print_json(record)
    elif not quiet:
        print_line(
            f"{record['edges_kept']:,} of {record['edges_read']:,} edges on {record['nodes']:,} "
            f"nodes in {record['seconds']:.1f} s, {_accuracy(made)}, in {out}"
        )


def _certifies(asked, source, epsilon):
    """Whether to certify: as asked, else with --epsilon where the input can be read again."""
    from graphsqueak.validation import InputError

    if asked and not source.is_rereadable:
        raise InputError(
            "--certify reads the input several times; a pipe can be read once: write it to a file, "
            "or leave --certify out and get a predicted accuracy"
        )
    return (epsilon is not None and source.is_rereadable) if asked is None else asked


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


def _accuracy(made):
    if made.certificate is None:
        return f"accuracy {made.stream.epsilon_predicted_:.2g} (predicted, not certified)"
    return f"certified: {made.certificate}"


def _record(made, source, seed):
    from graphsqueak.sources.summary import peak_rss

    stream, certificate = made.stream, made.certificate
    record = {
        "nodes": stream.n_nodes_,
        "edges_read": stream.n_edges_seen_,
        "edges_kept": made.sparsifier.n_edges,
        "peak_rss_bytes": peak_rss(),
        "shrinks": stream.n_shrinks_,
        "epsilon_predicted": stream.epsilon_predicted_,
        "probe_error": stream.probe_error_,
        "self_loops": source.n_self_loops,
        "zero_weights": source.n_zero_weights,
        "bad_lines": source.n_bad_lines,
        "components": stream.n_components_,
        "seed": seed,
    }
    if certificate is not None:
        names = ("epsilon_lower", "epsilon_upper", "lambda_min", "lambda_max", "delta", "passes")
        record |= {name: getattr(certificate, name) for name in names} | {"runs": made.n_runs}
    return record
