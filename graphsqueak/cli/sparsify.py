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
    Scheduler,
    Seed,
    Workers,
    open_edges,
    print_json,
    print_line,
    shows_progress,
)
from graphsqueak.cli.plan import print_plan
from graphsqueak.cli.stopping import Stopped, held
from graphsqueak.validation import InputError

__all__ = ["sparsify"]


def sparsify(
    edges: Edges,
    out: Annotated[
        str | None, typer.Option("-o", "--out", help="Where to write the sparsifier.")
    ] = None,
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
        str | None,
        typer.Option(
            metavar="PATH",
            help="Save the state in this file now and then; of a tree, finished parts in a folder.",
        ),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often.")] = 60.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    tree: Annotated[
        str | None,
        typer.Option(
            help="Read the input in parts and merge them: balanced, sequential, or states per "
            "merge (default with --workers or --scheduler: balanced)."
        ),
    ] = None,
    parts: Annotated[int | None, typer.Option(min=1, help="About how many parts.")] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory",
            "--memory-limit",
            metavar="SIZE",
            help="Of the process, or of each worker: 2GB, 512MiB; a number alone is GiB. It "
            "shrinks earlier to keep to it, or refuses to begin.",
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only estimate time, memory and traffic, from a sample.")
    ] = False,
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

    --workers or --scheduler read parts of the input apart and merge what they keep, on processes of
    this machine or on a Dask cluster.

    Example: graphsqueak sparsify edges.tsv.gz -o sparse.tsv --keep 0.05
    """
    from graphsqueak.sources import write_edges
    from graphsqueak.sources.writing import check_output
    from graphsqueak.sparsify.correction import Corrected, corrected
    from graphsqueak.sparsify.costs import check_room, size_in_bytes

    began = time.perf_counter()
    settings = {"n_edges": n_edges, "epsilon": epsilon, "keep": keep}
    settings |= {"method": method, "ridge": ridge}
    limit = None if memory_limit is None else check_room(size_in_bytes(memory_limit), n_edges)
    where = {"workers": workers, "scheduler": scheduler, "tree": tree, "n_parts": parts}
    saving = {"checkpoint": checkpoint, "resume": resume}
    source = open_edges(edges, ids=ids, header=header, on_bad_line=on_bad_line)
    if plan:
        print_plan(source, settings, where, limit, as_json=as_json)
        return
    if out is None:
        raise InputError("--out FILE is missing: where to write the sparsifier")
    check_output(out)
    goal = epsilon if method == "fast" else None
    certify = _certifies(certify, source, goal)
    progress = shows_progress(quiet=quiet, as_json=as_json)
    run = _run_tree if _is_tree(where) else _run_stream
    where |= {"memory_limit": limit}
    stream, told, rerun = run(source, settings, where, saving | {"every": every}, seed, progress)
    rate = stream.n_edges_seen_ / (time.perf_counter() - began)
    if certify:
        made = corrected(
            source,
            stream,
            epsilon=goal,
            delta=delta,
            random_state=seed,
            progress=progress,
            rerun=rerun,
        )
    else:
        made = Corrected(stream.sparsifier(), None, stream, 1)
    write_edges(made.sparsifier, out, weights=True)
    record = _record(made, seed) | told
    record |= {"seconds": time.perf_counter() - began, "edges_per_second": rate}
    if as_json:
        print_json(record)
    elif not quiet:
        print_line(
            f"{record['edges_kept']:,} of {record['edges_read']:,} edges on {record['nodes']:,} "
            f"nodes in {record['seconds']:.1f} s, {_accuracy(made)}, in {out}"
        )


def _is_tree(where):
    from graphsqueak.sparsify.parted import runs_in_parts

    return runs_in_parts(**where, memory_limit=None, checkpoint=None, resume=False)


def _run_stream(source, settings, where, saving, seed, progress):
    """One pass: the stream, what to tell of it, and None: it is made again by another pass."""
    from pathlib import Path

    from graphsqueak.sources.atomic import check_place
    from graphsqueak.sparsify.running import run_stream

    stream = _opened(settings, where["memory_limit"], seed, saving)
    if saving["checkpoint"] is not None:
        check_place(saving["checkpoint"])
    how = {"checkpoint": saving["checkpoint"], "every": saving["every"]}
    try:
        run_stream(stream, source, progress=progress, **how, held=held)
    except Stopped as stop:
        if saving["checkpoint"] is not None and Path(saving["checkpoint"]).exists():
            stop.checkpoint = saving["checkpoint"]
        raise
    names = ("self_loops", "zero_weights", "bad_lines")
    return stream, {name: getattr(source, f"n_{name}") for name in names}, None


def _run_tree(source, settings, where, saving, seed, progress):
    """A merge tree: the stream at its root, what to tell of it, and how to run another one."""
    from graphsqueak.sparsify.parted import sparsify_parts

    how = {"checkpoint": saving["checkpoint"], "resume": saving["resume"]}
    grown = sparsify_parts(source, settings, **where, **how, random_state=seed, progress=progress)
    told = {name.removeprefix("n_"): count for name, count in grown.stream.note.items()}
    told |= {"parts": grown.n_parts, "parts_resumed": grown.n_resumed}
    told |= {"workers": where["workers"], "tree": where["tree"] or "balanced"}
    told |= {name: getattr(grown.run, name) for name in ("worker_peak_bytes", "moved_bytes")}
    return grown.stream, told, grown.rerun


def _certifies(asked, source, epsilon):
    """Whether to certify: as asked, else with --epsilon where the input can be read again."""
    if asked and not source.is_rereadable:
        raise InputError(
            "--certify reads the input several times; a pipe can be read once: write it to a file, "
            "or leave --certify out and get a predicted accuracy"
        )
    return (epsilon is not None and source.is_rereadable) if asked is None else asked


def _opened(settings, memory_limit, seed, saving):
    from pathlib import Path

    from graphsqueak.sparsify import StreamOptions, StreamSparsifier

    options = StreamOptions(memory_limit=memory_limit)
    fresh = StreamSparsifier(**settings, options=options, random_state=seed)
    checkpoint = saving["checkpoint"]
    if not saving["resume"]:
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
    if stream.options != options:
        raise InputError(f"{checkpoint} was written with another --memory; resume with the same")
    if seed is not None and not stream.same_seed(fresh):
        raise InputError(f"{checkpoint} was written with another --seed; resume with the same one")
    return stream


def _accuracy(made):
    if made.certificate is None:
        return f"accuracy {made.stream.epsilon_predicted_:.2g} (predicted, not certified)"
    return f"certified: {made.certificate}"


def _record(made, seed):
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
        "components": stream.n_components_,
        "seed": seed,
    }
    if certificate is not None:
        names = ("epsilon_lower", "epsilon_upper", "lambda_min", "lambda_max", "delta", "passes")
        record |= {name: getattr(certificate, name) for name in names} | {"runs": made.n_runs}
    return record
