"""graphsqueak sparsify: one pass over an edge file, a small reweighted graph out."""

import math
from typing import Annotated, Any

import typer

from graphsqueak.cli import options
from graphsqueak.cli.dry_run import (
    DryRun,
    beginning_of_edges,
    forecast_record,
    tell_dry_run,
    tell_forecast,
)
from graphsqueak.cli.reading import (
    Edges,
    Reading,
    paths_read,
    reading_words,
    reads_edges,
    tell_understood,
)
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import note_written, resumable_from, written_together

__all__ = ["sparsify"]

_SMALL = 2**26  # bytes of input that are read once more without being asked for
_FEW = 2.0  # edges a node: fewer are warned of


@reads_edges
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
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION", parser=options.fraction, help="Edges to keep: 0.05 or 5%."
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto, stream: sample the stream. subgraph: a preconditioner with few edges, "
            "chosen from a graph in memory; cuts, degrees and total weight are not preserved. "
            "kelner-levin: Algorithm 11 with its proof constants."
        ),
    ] = "auto",
    ridge: Annotated[float, typer.Option(help="For experts: gamma, see docs/sparsify.md.")] = 0.0,
    window: options.Window = None,
    n_panes: Annotated[
        int, typer.Option("--buckets", help="Parts of a window: it forgets one at a time.")
    ] = 16,
    half_life: options.HalfLife = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="EDGES is a file that grows, or a pipe: write --out anew every --every seconds, "
            "until Ctrl-C or the end of the pipe.",
        ),
    ] = False,
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Measure the error on the whole file; with --epsilon, search for the fewest edges "
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
    checkpoint_interval: Annotated[
        float,
        typer.Option(
            "--every", metavar="SECONDS", help="How often to save, or to write (--follow)."
        ),
    ] = 60.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Start that many processes, and share the parts."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster: tcp://host:8786."),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            help="Read the input in parts and merge them: guided, balanced, sequential, states per "
            "merge, or auto (default with --workers, --scheduler): guided, with --memory balanced."
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
    force: options.Force = False,
    no_header_out: options.NoHeaderOut = False,
    dry_run: DryRun = False,
    estimate_cost: Annotated[
        bool, typer.Option("--plan", help="Only estimate time, memory and traffic, from a sample.")
    ] = False,
    *,
    reading: Reading,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Keep a small, reweighted part of the edges that behaves like all of them.

    One pass in fixed memory. All nodes and components stay (with --method kelner-levin: components
    with probability 0.99). Give exactly one of --epsilon, --edges and --keep. What stays alike are
    cuts (the weight between a group of nodes and all others), distances by resistance and random
    walks, and clusters while some five edges a node are kept; not single edges or triangles. Edges
    have no direction.

    --epsilon is measured by reading the file again, and met with few edges: up to four runs search
    for the fewest. On a pipe the number of edges follows from the predicted error.

    With --time, --window and --half-life forget: only the edges of the last while count, or older
    ones count less.

    --workers or --scheduler read parts of the input apart and merge what they keep, on processes of
    this machine or on a Dask cluster.

    Example: graphsqueak sparsify edges.tsv.gz -o sparse.tsv --keep 0.05
    """
    from graphsqueak.sparsifiers.config import SparsifyConfig
    from graphsqueak.sparsifiers.result import error_in_short, next_step, uses, verdict
    from graphsqueak.sparsifiers.run import run_sparsify
    from graphsqueak.system.memory import size_in_bytes
    from graphsqueak.system.progress import reporter

    source = reading.open(edges, seed, follow=follow)
    options.check_budget(epsilon, n_edges, keep)
    forgets: dict[str, Any] = {"half_life": half_life, "window": window, "n_panes": n_panes}
    if (window is not None or half_life is not None) and reading.time is None:
        raise InputError("--window and --half-life need the times of edges; give --time COLUMN")
    if certify is None and report is not None and source.is_rereadable:
        certify = True
    config = SparsifyConfig(
        n_edges=n_edges,
        epsilon=epsilon,
        keep=keep,
        method=method,
        ridge=ridge,
        **forgets,
        certify=certify,
        delta=delta,
        workers=workers,
        scheduler=scheduler,
        tree=tree or ("auto" if estimate_cost else None),
        n_parts=parts,
        memory_limit=None if memory_limit is None else size_in_bytes(memory_limit),
        checkpoint=checkpoint,
        checkpoint_interval=checkpoint_interval,
        resume=resume,
        random_state=seed,
        progress=options.shows_progress(quiet=quiet, as_json=as_json),
    )
    if estimate_cost:
        _print_cost(source, config, as_json=as_json)
        return
    if out is None:
        raise InputError("--out FILE is missing: where to write the sparsifier")
    if follow and (certify or config.is_tree or report is not None or dry_run or out == "-"):
        raise InputError(
            "--follow writes --out, a file, again and again, and does nothing else: leave "
            "--certify, --report, --dry-run, --workers, --scheduler and --tree away"
        )
    config.is_certified(source)  # refuses a pipe before the work
    options.check_table(out)
    if report is not None:
        options.check_drawing("--report")
    options.check_outputs(
        {"--checkpoint": checkpoint, "--out": out, "--report": report},
        paths_read(edges, source),
        force=force or dry_run or (follow and resume),
        quiet=quiet,
        as_json=as_json,
        resumes=checkpoint if resume else None,
    )
    if follow:
        _follow(source, config, out, header=not no_header_out, quiet=quiet, as_json=as_json)
        return
    if dry_run:
        _dry_run(source, config, [out, report], force=force, as_json=as_json)
        return
    if not (quiet or as_json or config.is_tree or config.is_timed) and epsilon is None:
        forecast = _forecast_of_small(source, config)
        if forecast is not None and (said := _expected_in_short(forecast, config)):
            options.print_line(said, on_stderr=True)
    with resumable_from(checkpoint):
        result = run_sparsify(source, config)
        with written_together():
            options.write_result(result.sparsifier, out, header=not no_header_out)
            if report is not None:
                from graphsqueak.sparsifiers.run_page import write_report

                with reporter(config.progress, "drawing the page"):
                    write_report(
                        result,
                        report,
                        edges=edges,
                        out=out,
                        is_rereadable=source.is_rereadable and not config.is_timed,
                        reading=reading_words(reading),
                    )
            if checkpoint is not None:
                note_written(checkpoint, [out, report])
    understood = tell_understood(source, quiet=quiet, dropped=result.dropped)
    if as_json:
        options.print_json(result.record() | {"input": understood})
    elif not quiet:
        stream = result.stream
        times = "" if result.span is None else " of times {:.15g} to {:.15g}".format(*result.span)
        options.print_summary(
            f"{result.sparsifier.n_edges:,} of {stream.n_edges_recent_:,} edges{times} on "
            f"{stream.n_nodes_:,} nodes in {result.seconds:.1f} s, "
            f"{error_in_short(result)}, in {out}",
            out,
        )
        for said in (verdict(result), uses(result), next_step(result)):
            if said:
                options.print_summary(said, out)


def _forecast_of_small(source, config):
    """The forecast of a file that is read in a moment, or of its recent edges; else None."""
    if not source.is_rereadable:
        return None
    if sum(part.n_bytes() for part in source.parts) > _SMALL:
        return None
    from graphsqueak.sparsifiers.forecast import Forecast

    recent = source
    if config.is_timed:
        from graphsqueak.sources.recent import recent_edges

        recent = recent_edges(source, window=config.window, half_life=config.half_life)
    edges = recent.to_edge_list()
    return Forecast(edges) if edges.n_edges else None


def _expected_in_short(forecast, config):
    """Return the expected result in one line, with a better option if it is poor."""
    n_edges = config.n_edges
    if n_edges is None:
        if config.keep is None:
            return ""
        n_edges = math.ceil(config.keep * forecast.n_edges)
    if n_edges >= forecast.n_edges or n_edges < forecast.n_forest:
        return ""
    method = "subgraph" if config.method == "subgraph" else "stream"
    row = forecast.expect(n_edges, method=method)
    error = f"of about {row.epsilon:.2g}" if row.epsilon < 1 else "above 1"
    kappa = f"{row.kappa:.2g}" if row.kappa < 100 else f"{row.kappa:,.0f}"
    said = f"expected: {row.n_edges:,} edges, an error {error}, a kappa of about {kappa}"
    per_node = n_edges / forecast.n_nodes
    if per_node >= _FEW or method == "subgraph":
        return said
    enough = math.ceil(100 * forecast.fraction_for(0.5)) / 100
    better = f"; --keep {enough:g} gives an error of about 0.5" if enough < 1 else ""
    option = "--edges" if config.keep is None else "--keep"
    return f"warning: {option} leaves {per_node:.1f} edges per node; {said}{better}"


def _follow(source, config, out, *, header, quiet, as_json):
    """Write the sparsifier of a growing file again and again, and say so."""
    from graphsqueak.sparsifiers.run import follow_stream

    n_written = 0

    def write(stream):
        nonlocal n_written
        result = stream.sparsifier()
        options.write_result(result, out, header=header)
        n_written += 1
        said = f"{result.n_edges:,} edges of {stream.n_edges_recent_:,} so far, in {out}"
        if not quiet and not as_json:
            options.print_line(said, on_stderr=True)

    stream = follow_stream(source, config, write)
    if stream.n_edges_seen_:
        understood = tell_understood(source, quiet=quiet)
        if as_json:
            record = {"nodes": stream.n_nodes_, "edges_read": stream.n_edges_seen_}
            record |= {"written": n_written, "seed": config.random_state, "input": understood}
            options.print_json(record)


def _dry_run(source, config, paths, *, force, as_json):
    from graphsqueak.sparsifiers.run import open_stream

    reads = [beginning_of_edges(source)]
    n_seen = 0 if config.is_tree else open_stream(config).n_edges_seen_
    if n_seen:
        reads.append(f"{config.checkpoint}, which has seen {n_seen:,} edges")
    writes = [path for path in paths if path is not None]
    forecast = _forecast_of_small(source, config)
    more = {} if forecast is None else forecast_record(forecast)
    if forecast is not None and not as_json:
        tell_forecast(forecast)
        if said := _expected_in_short(forecast, config):
            options.print_line(said)
        options.print_line()
    tell_dry_run(reads, writes, force=force, as_json=as_json, more=more)


def _print_cost(source, config, *, as_json):
    """Print what a merge tree would cost, as JSON or for a person."""
    from graphsqueak.sparsifiers.cost import estimate_cost
    from graphsqueak.system.memory import readable_size

    cost = estimate_cost(source, config)
    if as_json:
        options.print_json(cost._asdict())
        return
    options.print_table(
        {
            "nodes, about": cost.nodes,
            "edges, about": cost.edges,
            "edges kept": cost.edges_kept,
            "parts": cost.parts,
            "tree": f"{cost.tree}, {cost.levels} levels",
            "workers": cost.workers,
            "expected time": f"{cost.seconds:,.1f} s (a part {cost.seconds_of_a_leaf:,.1f} s, "
            f"the last merge {cost.seconds_of_the_last_merge:,.1f} s)",
            "memory per worker": readable_size(cost.memory_per_worker_bytes),
            "moved between workers": readable_size(cost.moved_bytes),
            "result": readable_size(cost.result_bytes),
        }
    )
