"""graphsqueak sparsify: one pass over an edge file, a small reweighted graph out."""

import time
from typing import Annotated

import typer

from graphsqueak.cli.dry_run import DryRun, beginning_of_edges, tell_dry_run
from graphsqueak.cli.options import (
    BadLine,
    Columns,
    Delimiter,
    Edges,
    Header,
    Ids,
    Json,
    Quiet,
    Scheduler,
    Seed,
    Weights,
    Workers,
    check_budget,
    open_edges,
    print_json,
    print_line,
    shows_progress,
)
from graphsqueak.cli.place import check_place, check_table_place, write_result
from graphsqueak.cli.plan import print_plan
from graphsqueak.cli.sparsify_report import check_report, write_report
from graphsqueak.errors import InputError
from graphsqueak.system.signals import held, saving_to

__all__ = ["sparsify"]


def sparsify(
    edges: Edges,
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", help="Edge file to write: .tsv, .csv, .parquet, .mtx ..."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Largest error allowed: 0.5 lets every cut be off by a half."),
    ] = None,
    n_edges: Annotated[int | None, typer.Option("--edges", help="Edges to keep, at most.")] = None,
    keep: Annotated[float | None, typer.Option(help="Share of the edges to keep: 0.05.")] = None,
    method: Annotated[
        str, typer.Option(help="fast, or thesis: Algorithm 11 with its proof constants.")
    ] = "fast",
    ridge: Annotated[float, typer.Option(help="For experts: gamma, see docs/sparsify.md.")] = 0.0,
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Measure the accuracy on the whole file; with --epsilon, correct it "
            "(default: with --epsilon or --report, unless the input is a pipe).",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Chance that a certificate is wrong.")] = 0.01,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Save the state in this file now and then; of a tree, finished parts in a folder.",
        ),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to save.")] = 60.0,
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
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a page (HTML) on what was read, kept, certified."),
    ] = None,
    dry_run: DryRun = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only estimate time, memory and traffic, from a sample.")
    ] = False,
    ids: Ids = "auto",
    header: Header = None,
    columns: Columns = None,
    delimiter: Delimiter = "auto",
    weights: Weights = None,
    on_bad_line: BadLine = "error",
    seed: Seed = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Keep a small, reweighted part of the edges that behaves like all of them.

    One pass in fixed memory. All nodes and components stay. Give exactly one of --epsilon, --edges
    and --keep. What stays alike are cuts (the weight between a group of nodes and all others),
    clusters, distances by resistance and random walks; not single edges or triangles.

    --epsilon is measured, by reading the file again, and met: if the first run misses it, another
    one with more edges follows. On a pipe the accuracy is predicted, for dense graphs.

    --workers or --scheduler read parts of the input apart and merge what they keep, on processes of
    this machine or on a Dask cluster.

    Example: graphsqueak sparsify edges.tsv.gz -o sparse.tsv --keep 0.05
    """
    from graphsqueak.sparsifiers.budget import check_room
    from graphsqueak.sparsifiers.run import Corrected, corrected
    from graphsqueak.system.memory import size_in_bytes

    began = time.perf_counter()
    settings = {"n_edges": n_edges, "epsilon": epsilon, "keep": keep}
    settings |= {"method": method, "ridge": ridge}
    limit = None if memory_limit is None else check_room(size_in_bytes(memory_limit), n_edges)
    where = {"workers": workers, "scheduler": scheduler, "tree": tree, "n_parts": parts}
    saving = {"checkpoint": checkpoint, "resume": resume}
    shape = {"columns": columns, "delimiter": delimiter, "weights": weights}
    source = open_edges(edges, ids=ids, header=header, on_bad_line=on_bad_line, **shape)
    check_budget(epsilon, n_edges, keep)
    if plan:
        print_plan(source, settings, where, limit, as_json=as_json)
        return
    is_tree = _is_tree(where)
    where |= {"memory_limit": limit}
    _check_places(out, report, None if is_tree else checkpoint)
    goal = epsilon if method == "fast" else None
    certify = _certifies(certify, source, wanted=goal is not None or report is not None)
    if dry_run:
        begun = {"checkpoint": None, "resume": False} if is_tree else saving
        stream = _opened(settings, limit, seed, begun)
        _dry_run(source, stream, checkpoint, [out, report], as_json=as_json)
        return
    progress = shows_progress(quiet=quiet, as_json=as_json)
    run = _run_tree if is_tree else _run_stream
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
    write_result(made.sparsifier, out)
    record = _record(made, seed) | told
    record |= {"seconds": time.perf_counter() - began, "edges_per_second": rate}
    if report is not None:
        write_report(report, made, record, edges=edges, out=out)
    if as_json:
        print_json(record)
    elif not quiet:
        print_line(
            f"{record['edges_kept']:,} of {record['edges_read']:,} edges on {record['nodes']:,} "
            f"nodes in {record['seconds']:.1f} s, {_accuracy(made)}, in {out}"
        )
        if made.certificate is not None:
            print_line(made.certificate.in_words())


def _check_places(out, report, checkpoint):
    """Refuse missing and impossible places before the work."""
    if out is None:
        raise InputError("--out FILE is missing: where to write the sparsifier")
    check_table_place(out)
    if report is not None:
        check_report(report)
    if checkpoint is not None:
        check_place(checkpoint, option="--checkpoint")


def _dry_run(source, stream, checkpoint, outputs, *, as_json):
    reads = [beginning_of_edges(source)]
    if stream.n_edges_seen_:
        reads.append(f"{checkpoint}, which has seen {stream.n_edges_seen_:,} edges")
    tell_dry_run(reads, [path for path in outputs if path is not None], as_json=as_json)


def _is_tree(where):
    from graphsqueak.sparsifiers.tree.parts import runs_in_parts

    return runs_in_parts(**where, memory_limit=None, checkpoint=None, resume=False)


def _run_stream(source, settings, where, saving, seed, progress):
    """One pass: the stream, what to tell of it, and None: it is made again by another pass."""
    from graphsqueak.sparsifiers.run import run_stream

    stream = _opened(settings, where["memory_limit"], seed, saving)
    how = {"checkpoint": saving["checkpoint"], "every": saving["every"]}
    with saving_to(saving["checkpoint"]):
        run_stream(stream, source, progress=progress, **how, held=held)
    names = ("self_loops", "zero_weights", "bad_lines")
    return stream, {name: getattr(source, f"n_{name}") for name in names}, None


def _run_tree(source, settings, where, saving, seed, progress):
    """A merge tree: the stream at its root, what to tell of it, and how to run another one."""
    from graphsqueak.sparsifiers.tree.parts import sparsify_parts

    how = {"checkpoint": saving["checkpoint"], "resume": saving["resume"]}
    how |= {"random_state": seed, "progress": progress}
    with saving_to(saving["checkpoint"]):
        grown = sparsify_parts(source, settings, **where, **how)
    told = {name.removeprefix("n_"): count for name, count in grown.stream.note.items()}
    told |= {"parts": grown.n_parts, "parts_resumed": grown.n_resumed}
    told |= {"workers": where["workers"], "tree": where["tree"] or "balanced"}
    told |= {name: getattr(grown.run, name) for name in ("worker_peak_bytes", "moved_bytes")}
    return grown.stream, told, grown.rerun


def _certifies(asked, source, *, wanted):
    """Whether to certify: as asked, else if wanted and where the input can be read again."""
    if asked and not source.is_rereadable:
        raise InputError(
            "--certify reads the input several times; a pipe can be read once: write it to a file, "
            "or leave --certify out and get a predicted accuracy"
        )
    return (wanted and source.is_rereadable) if asked is None else asked


def _opened(settings, memory_limit, seed, saving):
    from pathlib import Path

    from graphsqueak.sparsifiers import StreamOptions, StreamSparsifier

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
    from graphsqueak.system.memory import peak_rss

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
