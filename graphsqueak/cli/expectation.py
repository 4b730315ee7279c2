"""What sparsify would give, told before the work: a table, a sentence, a warning."""

import math

from graphsqueak.cli import options
from graphsqueak.system.memory import readable_size

__all__ = [
    "expected_in_short",
    "forecast_of",
    "forecast_of_small",
    "forecast_record",
    "tell_forecast",
]

_MOST_HELD = 2**22  # edges; of more, a sample is looked at
_SMALL = 2**26  # bytes of input that are read once more without being asked for
_FEW = 2.0  # edges a node: fewer are warned of


def forecast_of(source, n_edges):
    """The forecast of a source of `n_edges` edges, read once more."""
    from graphsqueak.sparsifiers.forecast import Forecast

    if n_edges <= _MOST_HELD:
        return Forecast(source.to_edge_list(), n_edges=n_edges)
    return Forecast.from_sample(source, n_edges=n_edges, most=_MOST_HELD)


def forecast_of_small(source):
    """The forecast of a file that is read in a moment; else None."""
    if not source.is_rereadable:
        return None
    if sum(part.n_bytes() for part in source.parts) > _SMALL:
        return None
    from graphsqueak.sparsifiers.forecast import Forecast

    edges = source.to_edge_list()
    return Forecast(edges) if edges.n_edges else None


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


def expected_in_short(forecast, plan):
    """What the run of a plan is to give, in a line, and what to ask for where that is little."""
    n_edges = plan.n_edges
    if n_edges is None:
        if plan.keep is None:
            return ""
        n_edges = math.ceil(plan.keep * forecast.n_edges)
    if n_edges >= forecast.n_edges or n_edges < forecast.n_forest:
        return ""
    row = forecast.expect(n_edges)
    said = (
        f"expected: {row.n_edges:,} edges, an error of about {row.epsilon:.2g}, a kappa of about "
        f"{row.kappa:.2g}"
    )
    per_node = n_edges / forecast.n_nodes
    if per_node >= _FEW:
        return said
    enough = forecast.share_for(0.5)
    return (
        f"warning: {'--edges' if plan.keep is None else '--keep'} leaves {per_node:.1f} edges a "
        f"node; {said}; --keep {math.ceil(100 * enough) / 100:g} gives an error of about 0.5"
    )


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
