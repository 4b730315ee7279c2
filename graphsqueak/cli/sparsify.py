"""graphsqueak sparsify: one pass over edge files, a small reweighted graph out."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from graphsqueak.cli.dry_run import describe_beginning, print_dry_run
from graphsqueak.cli.forecasts import (
    expected_result,
    forecast_record,
    forecast_small_input,
    is_small,
    measure_if_small,
    print_forecast,
)
from graphsqueak.cli.groups import (
    Checkpointing,
    DryRun,
    Force,
    NoHeaderOut,
    Parallel,
    Printing,
    Seed,
    Size,
    Window,
    with_option_groups,
)
from graphsqueak.cli.help_pages import ADVANCED, OUTPUT, TIME
from graphsqueak.cli.output import (
    check_format,
    check_matplotlib,
    check_outputs,
    print_json,
    print_line,
    print_summary,
    print_table,
    write_result,
)
from graphsqueak.cli.reading import (
    Edges,
    Reading,
    announce_schema,
    paths_read,
    report_schema,
)
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import (
    note_written,
    resumable_from,
    written_bytes,
    written_together,
)


@dataclass(frozen=True, kw_only=True)
class Method:
    """How edges are sampled, and whether the error is measured."""

    method: Annotated[
        Literal["auto", "stream", "subgraph", "kelner-levin"],
        typer.Option(
            help="Sampling method. auto and stream: one pass. subgraph: a preconditioner with few "
            "edges, chosen from a graph in memory; cuts, degrees and total weight are not "
            "preserved. kelner-levin: Algorithm 11 with its proof constants.",
            rich_help_panel=ADVANCED,
        ),
    ] = "auto"
    ridge: Annotated[
        float,
        typer.Option(
            metavar="GAMMA",
            help="Preserve L + GAMMA I instead of L, see docs/explanation/algorithm.md.",
            rich_help_panel=ADVANCED,
        ),
    ] = 0.0
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Measure the error on the whole input. With --epsilon, search for the fewest "
            "edges.",
            show_default="with --epsilon or --report, unless the input is a pipe",
            rich_help_panel=ADVANCED,
        ),
    ] = None
    delta: Annotated[
        float,
        typer.Option(
            metavar="PROBABILITY",
            help="Probability that a certificate is wrong.",
            rich_help_panel=ADVANCED,
        ),
    ] = 0.01


@with_option_groups
def sparsify(
    edges: Edges,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="PATH",
            help="Edge file to write: .tsv, .csv, .parquet, .mtx ...",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write an HTML page about the input, the result and its error.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    estimate_cost: Annotated[
        bool,
        typer.Option(
            "--estimate-cost",
            help="Only estimate time, memory and traffic of a merge tree, from a sample.",
            rich_help_panel=ADVANCED,
        ),
    ] = False,
    n_panes: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of panes of a window. Edges are forgotten one pane at a time.",
            rich_help_panel=TIME,
        ),
    ] = 16,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Read a growing file or a pipe, and write --out again every "
            "--interval seconds, until Ctrl-C or the end of the pipe.",
            rich_help_panel=TIME,
        ),
    ] = False,
    interval: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="With --follow: time between two updates of --out.",
            rich_help_panel=TIME,
        ),
    ] = 60.0,
    *,
    size: Size,
    method: Method,
    reading: Reading,
    window: Window,
    checkpointing: Checkpointing,
    parallel: Parallel,
    printing: Printing,
    force: Force = False,
    dry_run: DryRun = False,
    no_header_out: NoHeaderOut = False,
    random_state: Seed = None,
):
    """Keep a small, reweighted part of the edges that preserves cuts and random walks.

    One pass in fixed memory. All nodes and components are kept (components with probability 0.99
    with --method kelner-levin). Cuts (the weight between a group of nodes and all others),
    effective resistances and random walks are preserved, and clusters if about five edges per node
    are kept. Single edges and triangles are not. Edges have no direction.

    The error of --epsilon is measured by reading the input again, and up to four runs search for
    the fewest edges that meet it. For a pipe, the number of edges follows from the predicted error.

    With --time, --window counts only recent edges, and --half-life gives recent edges more weight.

    With --workers or --scheduler, parts of the input are processed separately and merged, in
    processes of this machine or on a Dask cluster.

    Examples:
      graphsqueak sparsify edges.tsv.gz -o sparse.tsv --keep 0.05
      graphsqueak sparsify edges.tsv -o sparse.parquet --epsilon 0.5
      graphsqueak sparsify edges.tsv -o sparse.tsv --n-edges 1000 --report report.html
    """
    from graphsqueak.sparsifiers.config import SparsifyConfig
    from graphsqueak.sparsifiers.run import run_sparsify

    source = reading.open(edges, random_state, follow=follow)
    size.check_exactly_one()
    window.check(reading.time)
    certify = method.certify
    if certify is None and report is not None and source.is_rereadable:
        certify = True
    config = SparsifyConfig(
        n_edges=size.n_edges,
        epsilon=size.epsilon,
        keep=size.keep,
        method=method.method,
        ridge=method.ridge,
        half_life=window.half_life,
        window=window.window,
        n_panes=n_panes,
        certify=certify,
        delta=method.delta,
        workers=parallel.workers,
        scheduler=parallel.scheduler,
        tree=parallel.tree or ("auto" if estimate_cost else None),
        n_parts=parallel.n_parts,
        memory_limit=parallel.memory_limit,
        checkpoint=checkpointing.checkpoint,
        checkpoint_interval=checkpointing.checkpoint_interval,
        resume=checkpointing.resume,
        random_state=random_state,
        progress=printing.progress,
    )
    if estimate_cost:
        _print_cost(source, config, as_json=printing.as_json)
        return
    if out is None:
        raise InputError("--out PATH is missing: the file to write the sparsifier to")
    if follow and (config.certify or config.is_tree or report is not None or dry_run or out == "-"):
        raise InputError(
            "--follow writes a file, --out, again and again; omit --certify, --report, --dry-run, "
            "--workers, --scheduler and --tree"
        )
    # Raises an error for a pipe, before the work.
    config.is_certified(source)
    check_format(out)
    if report is not None:
        check_matplotlib("--report")
    check_outputs(
        {"--checkpoint": checkpointing.checkpoint, "--out": out, "--report": report},
        paths_read(edges, source),
        printing=printing,
        force=force or (follow and checkpointing.resume),
        is_dry_run=dry_run,
        resumed_checkpoint=checkpointing.resumed_path,
    )
    checkpointing.note_if_missing(quiet=printing.quiet)
    if follow:
        announce_schema(source, quiet=printing.quiet)
        _follow(source, config, out, interval=interval, header=not no_header_out, printing=printing)
        return
    if dry_run:
        _print_dry_run(source, config, [out, report], as_json=printing.as_json)
        return
    announce_schema(source, quiet=printing.quiet)
    if printing.text:
        _print_expected(source, config)
    with resumable_from(config.checkpoint):
        result = run_sparsify(source, config)
        if printing.text or printing.as_json or report is not None:
            result = measure_if_small(source, result)
        with written_together():
            write_result(result.sparsifier, out, header=not no_header_out)
            if report is not None:
                _write_report(result, report, edges=edges, out=out, source=source, reading=reading)
            if config.checkpoint is not None:
                note_written(config.checkpoint, [out, report])
    schema = report_schema(source, quiet=printing.quiet, dropped=result.dropped, is_announced=True)
    if printing.as_json:
        print_json(result.record() | {"input": schema})
    elif not printing.quiet:
        _print_result(result, out)


def _print_expected(source, config):
    """Print what can be expected of a run on a small input, before it begins."""
    if config.is_tree or config.is_timed or config.epsilon is not None:
        return
    forecast = forecast_small_input(source, config)
    expected = None if forecast is None else expected_result(forecast, config)
    if expected is not None:
        print_line(expected, on_stderr=True)


def _print_result(result, out):
    """Print sizes and time, then the errors in words and what to do about them."""
    from graphsqueak.sparsifiers.result import next_step, uses, verdict

    stream = result.stream
    times = ""
    if result.span is not None:
        times = " of times {:.15g} to {:.15g}".format(*result.span)
    print_summary(
        f"{result.sparsifier.n_edges:,} of {stream.n_edges_recent_:,} edges{times} on "
        f"{stream.n_nodes_:,} nodes in {result.seconds:.1f} s, in {out}",
        out,
    )
    for text in (verdict(result), uses(result), next_step(result)):
        if text:
            print_summary(text, out)


def _write_report(result, report, *, edges, out, source, reading):
    from graphsqueak.sparsifiers.run_page import write_report
    from graphsqueak.system.progress import reporter

    config = result.config
    cuts = None
    # Cuts take one more pass, as the error does. Those of a projection that is sampled are not
    # those of its edges.
    if result.certificate is not None and source.is_materialized and not result.stream.is_exact_:
        cuts = result.compare_cuts(source)
    with reporter(config.progress, "drawing the page"):
        write_report(
            result,
            report,
            edges=edges,
            out=out,
            is_rereadable=source.is_rereadable and not config.is_timed,
            reading=reading.words(),
            cuts=cuts,
            file_sizes=_file_sizes(source, out),
        )


def _file_sizes(source, out):
    """Return the bytes of the inputs and of the output; None if one of them is not a file."""
    n_bytes_out = written_bytes(out)
    if n_bytes_out is None or not source.is_rereadable:
        return None
    return sum(part.n_bytes() for part in source.parts), n_bytes_out


def _follow(source, config, out, *, interval, header, printing):
    """Write the sparsifier of a growing file at intervals, with a line each."""
    from graphsqueak.sparsifiers.run import follow_stream

    n_written = 0

    def write(stream):
        nonlocal n_written
        sparsifier = stream.sparsifier()
        write_result(sparsifier, out, header=header)
        n_written += 1
        if printing.text:
            text = f"{sparsifier.n_edges:,} edges of {stream.n_edges_recent_:,} so far, in {out}"
            print_line(text, on_stderr=True)

    stream = follow_stream(source, config, write, interval=interval)
    if stream.n_edges_seen_ == 0:
        return
    schema = report_schema(source, quiet=printing.quiet, is_announced=True)
    if printing.as_json:
        print_json(
            {
                "nodes": stream.n_nodes_,
                "edges_read": stream.n_edges_seen_,
                "written": n_written,
                "seed": config.random_state,
                "input": schema,
            }
        )


def _print_dry_run(source, config, paths, *, as_json):
    """Print what would be read and written, and a forecast if the input is small."""
    from graphsqueak.sparsifiers.run import check_run

    n_seen = check_run(source, config, reads_all=is_small(source))
    inputs = [describe_beginning(source)]
    if n_seen:
        inputs.append(f"{config.checkpoint}, which has seen {n_seen:,} edges")
    forecast = forecast_small_input(source, config)
    if forecast is not None and not as_json:
        print_forecast(forecast)
        expected = expected_result(forecast, config)
        if expected is not None:
            print_line(expected)
        print_line()
    print_dry_run(
        inputs,
        [path for path in paths if path is not None],
        as_json=as_json,
        record={} if forecast is None else forecast_record(forecast),
    )


def _print_cost(source, config, *, as_json):
    """Print what a merge tree would cost, as JSON or for people."""
    from graphsqueak.sparsifiers.cost import estimate_cost
    from graphsqueak.system.memory import readable_size

    cost = estimate_cost(source, config)
    if as_json:
        print_json(cost._asdict())
        return
    print_table(
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
