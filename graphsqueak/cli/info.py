"""graphsqueak info: the contents of an edge file, or the progress of a checkpoint."""

from graphsqueak.cli.forecasts import forecast_of, forecast_record, print_forecast
from graphsqueak.cli.groups import Printing, with_option_groups
from graphsqueak.cli.output import print_json, print_table
from graphsqueak.cli.reading import Edges, Reading, report_schema


@with_option_groups
def info(edges: Edges, *, reading: Reading, printing: Printing):
    """Report nodes, edges, weights, components and degrees, and forecast sparsifiers.

    Files are read twice. A pipe is read once, without a forecast. For a checkpoint of sparsify, the
    progress of its run is reported.

    Examples:
      graphsqueak info edges.tsv.gz
      graphsqueak info edges.tsv --json
      graphsqueak info monday.ckpt
    """
    from dataclasses import asdict

    from graphsqueak import sources
    from graphsqueak.sparsifiers.stream.checkpoint import is_checkpoint

    if len(edges) == 1 and is_checkpoint(edges[0]):
        record = _progress_of(edges[0])
        _print_record(record, {"checkpoint": edges[0]} | record, printing)
        return
    source = reading.open(edges)
    if reading.project:
        record = source.describe()
        schema = report_schema(source, quiet=printing.quiet)
        _print_record(record | {"input": schema}, record, printing)
        return
    summary = sources.info(source, progress=printing.progress)
    schema = report_schema(source, quiet=printing.quiet)
    forecast = None
    if source.is_rereadable and summary.edges:
        forecast = forecast_of(source, summary.edges)
    if printing.as_json:
        forecasts = {} if forecast is None else forecast_record(forecast)
        print_json(asdict(summary) | forecasts | {"input": schema})
    elif not printing.quiet:
        print_table(dict(summary.rows()))
        if forecast is not None:
            print_forecast(forecast)


def _progress_of(checkpoint):
    """Return how far the run of a checkpoint has come."""
    from graphsqueak.sparsifiers import load_stream

    stream = load_stream(checkpoint)
    return {
        "nodes": stream.n_nodes_,
        "edges_seen": stream.n_edges_seen_,
        "edges_kept": stream.n_kept_,
        "budget": stream.budget_,
        "resparsifications": stream.n_resparsifications_,
    }


def _print_record(record, rows, printing):
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        print_table({name.replace("_", " "): value for name, value in rows.items()})
