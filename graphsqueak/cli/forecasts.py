"""What is measured on small inputs: forecasts before the work, and typical errors after it."""

import math

from graphsqueak.cli.output import print_line, print_lines

# Bytes of input that sparsify reads once more without being asked, which takes about a second. Only
# forecasts and typical errors of resistances depend on it: with half or twice as much, files
# between 32 and 128 MiB lose or get one line.
MAX_BYTES_FOR_FORECAST = 2**26
# Edges in memory for the forecast of `info`, 200 MiB. It is made from a sample of larger graphs.
# Halved or doubled, so is this memory.
MAX_EDGES_IN_MEMORY = 2**22
# With fewer edges per node, a sparsifier is close to a tree, and clusters are lost: sparsify warns.
# Only this line depends on it.
MIN_EDGES_PER_NODE = 2.0


def forecast_of(source, n_edges):
    """Return the forecast of a source of `n_edges` edges, which is read once more."""
    from graphsqueak.sparsifiers.forecast import Forecast

    if n_edges <= MAX_EDGES_IN_MEMORY:
        return Forecast(source.to_edge_list(), n_edges=n_edges)
    return Forecast.from_sample(source, n_edges=n_edges, most=MAX_EDGES_IN_MEMORY)


def forecast_small_input(source, config):
    """Return the forecast of a small file, or of its recent edges; None for a pipe or a large file.

    Parameters
    ----------
    source : EdgeSource
    config : SparsifyConfig
    """
    if not is_small(source):
        return None
    from graphsqueak.sparsifiers.forecast import Forecast

    if config.is_timed:
        from graphsqueak.sources.recent import recent_edges

        source = recent_edges(source, window=config.window, half_life=config.half_life)
    edges = source.to_edge_list()
    return Forecast(edges) if edges.n_edges else None


def measure_if_small(source, result):
    """Return the result, with the typical error of effective resistances if the input is small.

    Parameters
    ----------
    source : EdgeSource
    result : SparsifyResult
    """
    from graphsqueak.sparsifiers.typical_error import MAX_EDGES_FOR_RESISTANCES
    from graphsqueak.system.progress import reporter

    stream = result.stream
    # The edges of a window are not those of the file, and a projection may be sampled.
    is_same_graph = not result.config.is_timed and source.is_materialized
    if stream.is_exact_ or not is_same_graph or not is_small(source):
        return result
    if stream.n_edges_seen_ > MAX_EDGES_FOR_RESISTANCES:
        return result
    with reporter(result.config.progress, "measuring effective resistances"):
        return result.with_resistances(source.to_edge_list())


def is_small(source):
    """Return whether the input can be read once more, in about a second."""
    if not source.is_rereadable:
        return False
    return sum(part.n_bytes() for part in source.parts) <= MAX_BYTES_FOR_FORECAST


def expected_result(forecast, config):
    """Return a line on the expected result, with a better option if it is poor.

    None if the number of edges is not given, is that of the graph, or is too small to keep nodes
    connected, which is an error later.
    """
    n_edges = config.n_edges
    if n_edges is None:
        if config.keep is None:
            return None
        n_edges = math.ceil(config.keep * forecast.n_edges)
    if not forecast.n_forest <= n_edges < forecast.n_edges:
        return None
    method = "subgraph" if config.method == "subgraph" else "stream"
    row = forecast.expect(n_edges, method=method)
    error = f"of about {row.epsilon:.2g}" if row.epsilon < 1 else "above 1"
    kappa = f"{row.kappa:.2g}" if row.kappa < 100 else f"{row.kappa:,.0f}"
    expected = f"expected: {row.n_edges:,} edges, an error {error}, a kappa of about {kappa}"
    edges_per_node = n_edges / forecast.n_nodes
    if edges_per_node >= MIN_EDGES_PER_NODE or method == "subgraph":
        return expected
    option = "--n-edges" if config.keep is None else "--keep"
    warning = f"warning: {option} leaves {edges_per_node:.1f} edges per node; {expected}"
    enough = math.ceil(100 * forecast.fraction_for(0.5)) / 100
    if enough < 1:
        warning += f"; --keep {enough:g} gives an error of about 0.5"
    return warning


def forecast_record(forecast):
    """Return the table and the advice, as --json prints them."""
    rows = [row._asdict() for row in _possible_rows(forecast)]
    return {"forecast": rows, "advice": forecast.advice()}


def print_forecast(forecast):
    """Print a table of sparsifiers of several sizes, and whether one is worth it."""
    from graphsqueak.report.table import text_table

    header = ("keep", "edges", "per node", "error", "kappa", "size", "memory")
    rows = _possible_rows(forecast)
    print_line()
    if rows:
        print_lines(text_table([_cells(row, forecast) for row in rows], header=header))
        if len(rows) < len(forecast.table()):
            least = math.ceil(100 * forecast.n_forest / forecast.n_edges) / 100
            print_line(f"Less than --keep {least:g} is too few edges to keep the nodes connected.")
    print_line(forecast.advice())


def _possible_rows(forecast):
    """Return the rows with enough edges to keep the nodes connected."""
    return [row for row in forecast.table() if row.n_edges >= forecast.n_forest]


def _cells(row, forecast):
    from graphsqueak.system.memory import readable_size

    return (
        f"{row.keep:.0%}",
        f"{row.n_edges:,}",
        f"{row.n_edges / forecast.n_nodes:.1f}",
        f"{row.epsilon:.2g}" if row.epsilon < 1 else "above 1",
        f"{row.kappa:.3g}" if row.kappa < 1000 else f"{row.kappa:,.0f}",
        readable_size(row.result_bytes),
        readable_size(row.memory_bytes),
    )
