"""What sparsify would give at several shares of the edges: a table and a sentence."""

import math

from graphsqueak.cli import options
from graphsqueak.system.memory import readable_size

__all__ = ["forecast_of", "forecast_record", "tell_forecast"]

_MOST_HELD = 2**22  # edges; of more, a sample is looked at


def forecast_of(source, n_edges):
    """The forecast of a source of `n_edges` edges, read once more."""
    from graphsqueak.sparsifiers.forecast import Forecast

    if n_edges <= _MOST_HELD:
        return Forecast(source.to_edge_list(), n_edges=n_edges)
    return Forecast.from_sample(source, n_edges=n_edges, most=_MOST_HELD)


def forecast_record(forecast):
    """The table and the sentence, as --json prints them."""
    rows = [row._asdict() for row in forecast.table() if row.n_edges >= forecast.n_forest]
    return {"forecast": rows, "advice": forecast.advice()}


def tell_forecast(forecast):
    """Print the table and the sentence."""
    from graphsqueak.report.table import text_table

    header = ("keep", "edges", "a node", "error", "kappa", "file", "memory", "time")
    rows = forecast.table()
    options.print_line()
    possible = [row for row in rows if row.n_edges >= forecast.n_forest]
    options.print_line(text_table([_cells(row, forecast) for row in possible], header=header))
    if len(possible) < len(rows):
        least = math.ceil(100 * forecast.n_forest / forecast.n_edges) / 100
        options.print_line(f"Less than --keep {least:g} cannot hold the nodes together.")
    options.print_line(forecast.advice())


def _cells(row, forecast):
    return (
        f"{row.keep:.0%}",
        f"{row.n_edges:,}",
        f"{row.n_edges / forecast.n_nodes:.1f}",
        f"{row.epsilon:.2g}",
        f"{row.kappa:.3g}" if row.kappa < 1000 else f"{row.kappa:,.0f}",
        readable_size(row.result_bytes),
        readable_size(row.memory_bytes),
        f"{row.seconds:,.1f} s",
    )
