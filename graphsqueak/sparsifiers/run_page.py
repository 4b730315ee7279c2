"""HTML report of a run: verdict, input, output, measured error and degrees."""

import math
import os
import shlex
from collections.abc import Sequence
from numbers import Real

import numpy as np

from graphsqueak import __version__
from graphsqueak.report.page import html_page, picture
from graphsqueak.report.table import html_table
from graphsqueak.sparsifiers.result import SparsifyResult, error_in_short, next_step, uses, verdict
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.memory import readable_size

# Rows of the table of nodes, so that it fits on a screen. No other figure depends on it.
_N_NODES_SHOWN = 10
# Figures of `SparsifyResult.record` in the table of the input. Zeros are left out.
_INPUT_FIGURES = (
    "nodes",
    "edges_read",
    "edges_in_window",
    "components",
    "self_loops",
    "zero_weights",
    "bad_lines",
    "seconds",
)
_DEGREES = (
    "A node's degree is the total weight of its edges. {about_weights} On the left are the degrees "
    "of the graph and of the sparsifier, on the right their ratio, which is 1 at a node that keeps "
    "its degree. Half of the nodes have their degree within {median} %, all of them within "
    "{most} %."
)
_SCALED = (
    "The sparsifier has fewer and heavier edges: weights are scaled so that their total is the "
    "graph's, and so that nodes come as close to their degree as the kept edges allow."
)
_SUBGRAPH = (
    "The edges are a subgraph, and their weights are the graph's times {factor:.3g}: a node loses "
    "the weight of its dropped edges, and degrees are not preserved."
)
_UNBIASED = (
    "The sparsifier has fewer and heavier edges: the expectation of every weight is the graph's, "
    "and degrees are not corrected afterwards."
)
_SPECTRUM = (
    "Give every node a number, and sum over all edges the weight times the squared difference of "
    "the numbers at the two ends. If the numbers are 1 inside a group of nodes and 0 outside, this "
    "is the weight between the group and all others. The sum is called x'Lx: x are the numbers, "
    "and L is the Laplacian matrix of the graph. The figure shows the ratio of the sparsifier's "
    "sum to the graph's, over all independent choices of numbers (dimensions). All ratios are "
    "between the dashed lines; for a perfect copy all are 1."
)
_FROM_A_PIPE = (
    "The edges came from a pipe and cannot be read again. To measure the error, save them in a "
    "file and run the same command on it with --certify."
)


def write_report(
    result: SparsifyResult,
    path: str | os.PathLike,
    *,
    edges: Sequence[str],
    out: str,
    is_rereadable: bool = True,
    reading: Sequence[str] = (),
) -> None:
    """Write an HTML report of a run.

    The file is replaced only when the page is complete.

    Parameters
    ----------
    result : SparsifyResult
    path : path
        HTML file to write.
    edges : sequence of str
        Names of the inputs.
    out : str
        Name of the output.
    is_rereadable : bool
        Whether the edges can be read again. A pipe cannot.
    reading : sequence of str
        Options of the command line for reading the edges, used in the commands on the page.
    """
    name = ", ".join("a pipe" if each == "-" else each for each in edges)
    parts = [
        *_verdict_parts(result),
        *_next_step_parts(result, edges, out, reading, is_rereadable=is_rereadable),
        *_input_parts(result.record(), name),
        *_output_parts(result, out),
        *_error_parts(result),
        *_degree_parts(result),
    ]
    with atomic_file(path) as file:
        file.write(html_page(f"Sparsifier of {name}", parts).encode())


def _verdict_parts(result):
    n_kept = result.sparsifier.n_edges
    n_read = result.stream.n_edges_recent_
    yield "heading", "Verdict"
    yield "text", f"{n_kept:,} of {n_read:,} edges were kept: {error_in_short(result)}."
    yield "text", f"{verdict(result)} {uses(result)} {next_step(result)}"
    error = result.cut_error_lower
    if error is not None and math.isfinite(error) and not result.stream.is_exact_:
        yield (
            "text",
            "That is the worst case: of eight random groups of nodes none is off by more than "
            f"{error:.2g}.",
        )


def _next_step_parts(result, edges, out, reading, *, is_rereadable):
    """Yield commands and code for working with the result."""
    yield "heading", "What to do next"
    if is_rereadable and next_step(result) and not result.stream.is_exact_:
        # `out` may be a path or a remote address: both have slashes.
        folder, slash, name = out.rpartition("/")
        closer = f"{folder}{slash}closer-{name}"
        yield "text", "Request a smaller error, with as many edges as it needs:"
        yield "command", _command("sparsify", *edges, *reading, "-o", closer, "--epsilon", "0.5")
    yield "text", "Use it in Python like the graph itself:"
    yield (
        "code",
        "import graphsqueak as gs\n"
        f"H = gs.read_edges({out!r}).to_edge_list()\n"
        "G = H.to_networkx()  # or H.to_scipy(), or gs.compare(graph, H)",
    )
    if is_rereadable:
        yield "text", "Check the error again, or that of any other sparsifier:"
        yield "command", _command("certify", edges[0], out, *edges[1:], *reading)
    else:
        yield "text", _FROM_A_PIPE


def _command(*words):
    return shlex.join(["graphsqueak", *words])


def _table(rows, **style):
    """Return a table with formatted numbers, as a part of the page."""
    cells = [
        [_format_number(cell) if isinstance(cell, Real) else cell for cell in row] for row in rows
    ]
    return "html", html_table(cells, **style)


def _input_parts(record, name):
    rows = [("input", name)]
    rows += [(key.replace("_", " "), record[key]) for key in _INPUT_FIGURES if record.get(key)]
    rows.append(("peak memory", readable_size(record["peak_rss_bytes"])))
    yield "heading", "Input"
    yield _table(rows, words=True)


def _output_parts(result, out):
    sparsifier = result.sparsifier
    fraction = sparsifier.n_edges / max(result.stream.n_edges_recent_, 1)
    base = "those read" if result.span is None else "those that are not too old"
    seed = result.config.random_state
    yield "heading", "Output"
    yield _table(
        [
            ("output", out),
            ("nodes", f"{sparsifier.n_nodes:,} (all of them)"),
            ("edges", f"{sparsifier.n_edges:,} ({fraction:.2%} of {base})"),
            ("total weight", sparsifier.weight.sum()),
            ("total weight of the graph", result.stream.degrees_.sum() / 2),
            ("seed", "none given" if seed is None else str(seed)),
        ],
        words=True,
    )


def _error_parts(result):
    certificate = result.certificate
    if certificate is None or not certificate.passes:
        return
    yield "heading", "Measured error"
    yield "text", "A cut is the total weight between a group of nodes and all others."
    yield _table(certificate.rows(), words=True)
    if certificate.ratios.size:
        yield "text", _SPECTRUM
        figure = _new_figure(6.0, 3.5)
        certificate.plot(figure.subplots())
        yield "html", picture(figure, alt="Ratios of sparsifier to graph")[1]


def _degree_parts(result):
    from graphsqueak.report.figure import compare_degrees

    sparsifier = result.sparsifier
    before = result.stream.degrees_
    after = sparsifier.degrees()
    # Isolated nodes have no degree to change.
    change = 100 * np.abs(after - before) / np.where(before > 0, before, 1.0)
    yield "heading", "Degrees"
    yield (
        "text",
        _DEGREES.format(
            about_weights=_describe_weights(result),
            median=_format_number(np.median(change) if change.size else 0.0),
            most=_format_number(change.max(initial=0.0)),
        ),
    )
    figure = _new_figure(8.5, 3.2)
    compare_degrees(before, after, figure=figure)
    yield "html", picture(figure, alt="Degrees of graph and sparsifier")[1]
    ends = np.concatenate([sparsifier.tail, sparsifier.head])
    n_kept = np.bincount(ends, minlength=sparsifier.n_nodes)
    largest = np.argsort(-before, kind="stable")[:_N_NODES_SHOWN]
    ids = sparsifier.ids[largest].astype(str)
    yield _table(
        zip(ids, before[largest], after[largest], n_kept[largest], strict=True),
        header=("node", "degree in the graph", "in the sparsifier", "edges kept"),
        caption="The nodes of largest degree",
    )
    yield "text", f"Made by graphsqueak {__version__}."


def _new_figure(width, height):
    """Return a figure that pyplot does not manage: the caller's figures and backend stay."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _describe_weights(result):
    """Return how the weights of the sparsifier follow from those of the graph."""
    if result.stream.is_exact_:
        return "Nothing was dropped, so that every node has its degree."
    if result.method == "subgraph":
        return _SUBGRAPH.format(factor=result.factor)
    is_scaled = result.method == "stream" and result.config.options.rescale_to_degrees
    return _SCALED if is_scaled else _UNBIASED


def _format_number(value):
    """Return a number with all digits before the point, or with four significant digits.

    >>> [_format_number(value) for value in (1342300.25, 85.618, 0.022761, 7.0, math.inf, 3.2e19)]
    ['1,342,300', '85.62', '0.02276', '7', 'infinite', '3.2e+19']
    """
    if not math.isfinite(value):
        return "infinite"
    # Beyond 1e15 a double no longer has all digits of an integer.
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"
