"""graphsqueak info: what is in an edge file, or how far a checkpoint is."""

from graphsqueak.cli import options
from graphsqueak.cli.dry_run import forecast_of, forecast_record, tell_forecast
from graphsqueak.cli.reading import Edges, Reading, reads_edges, tell_understood

__all__ = ["info", "readable"]


@reads_edges
def info(
    edges: Edges,
    *,
    reading: Reading,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Nodes, edges, weights, components and degrees of an edge file, and what sparsify would give.

    Reads the file twice, a pipe once: without the forecast. For a checkpoint of sparsify: how far
    it is.

    Example: graphsqueak info edges.tsv.gz
    """
    from dataclasses import asdict

    from graphsqueak.sources import summarize
    from graphsqueak.sparsifiers.stream.checkpoint import is_checkpoint

    if len(edges) == 1 and is_checkpoint(edges[0]):
        _tell_progress(edges[0], as_json=as_json, quiet=quiet)
        return
    source = reading.open(edges)
    if reading.from_pairs:
        _tell_pairs(source, as_json=as_json, quiet=quiet)
        return
    summary = summarize(source, progress=options.shows_progress(quiet=quiet, as_json=as_json))
    understood = tell_understood(source, quiet=quiet)
    forecast = None
    if source.is_rereadable and summary.edges:
        forecast = forecast_of(source, summary.edges)
    if as_json:
        more = {} if forecast is None else forecast_record(forecast)
        options.print_json(asdict(summary) | more | {"input": understood})
    elif not quiet:
        options.print_table(readable(summary))
        if forecast is not None:
            tell_forecast(forecast)


def _tell_pairs(source, *, as_json, quiet):
    """Sizes of an entity-attribute table and of its graph."""
    record = source.describe()
    understood = tell_understood(source, quiet=quiet)
    if as_json:
        options.print_json(record | {"input": understood})
    elif not quiet:
        options.print_table({name.replace("_", " "): value for name, value in record.items()})


def _tell_progress(path, *, as_json, quiet):
    """How far the run had come that wrote this checkpoint."""
    from graphsqueak.sparsifiers import load_stream

    stream = load_stream(path)
    record = {
        "nodes": stream.n_nodes_,
        "edges_seen": stream.n_edges_seen_,
        "edges_kept": stream.n_kept_,
        "budget": stream.budget_,
        "shrinks": stream.n_shrinks_,
    }
    if as_json:
        options.print_json(record)
    elif not quiet:
        options.print_table(
            {"checkpoint": path} | {k.replace("_", " "): v for k, v in record.items()}
        )


def readable(summary):
    """The summary in a newcomer's words."""
    weights = f"{summary.weight_min:.4g} to {summary.weight_max:.4g}"
    dropped = {
        "self-loops dropped": summary.self_loops,
        "zero weights dropped": summary.zero_weights,
        "bad lines skipped": summary.bad_lines,
    }
    degrees = (summary.degree_min, summary.degree_median, summary.degree_max)
    return {
        "nodes": summary.nodes,
        "edges": summary.edges,
        **{name: count for name, count in dropped.items() if count},
        "components": summary.components,
        "isolated nodes": summary.isolated_nodes,
        "edges per node": "{:,} to {:,}, median {:,g}".format(
            *(degrees[0], degrees[2], degrees[1])
        ),
        "weights": weights if summary.weighted else "all 1",
        "total weight": f"{summary.weight_total:,.10g}",
        "node ids": summary.id_kind,
        "seconds": summary.seconds,
    }
