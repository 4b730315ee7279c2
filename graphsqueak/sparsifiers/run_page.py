"""HTML report of a run: a header strip, cuts, degrees, and then details."""

import math
import os
import shlex
from collections.abc import Sequence
from functools import partial
from numbers import Real

import numpy as np

from graphsqueak import __version__
from graphsqueak.report.page import header_strip, html_page, panels
from graphsqueak.report.table import html_table, percent
from graphsqueak.sparsifiers.cut_comparison import CutComparison
from graphsqueak.sparsifiers.forecast import round_up
from graphsqueak.sparsifiers.result import (
    QUANTITIES,
    SparsifyResult,
    grade,
    is_random_as_accurate,
    next_step,
    uses,
    verdict,
)
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.memory import readable_size

# A symmetric scipy matrix has two entries per edge, of 8 + 4 bytes each.
_BYTES_PER_EDGE = 24
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
_CUTS = (
    "A cut is the total weight between a group of nodes and all others. Each mark is a cut: its "
    "weight in the graph from left to right, and upwards the weight that the kept edges have "
    "instead, which is 1 if nothing changed. The {n_cuts} groups have from one node up to half of "
    "all nodes. Half of the groups are random nodes, the others are nodes that follow one another "
    "in the input. Half of the cuts are within {median} of the graph, and all of them within "
    "{most}. For about as many edges, sampled at random, it is {random_median} and {random_most}."
)
_DEGREES = (
    "A node's degree is the total weight of its edges. {about_weights} The figures show how many "
    "nodes have which degree, and the ratio of sparsifier to graph, which is 1 for a node that "
    "keeps its degree. Half of the nodes have their degree within {median} %, all of them within "
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
    "between the dashed lines. For a perfect copy all are 1."
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
    cuts: CutComparison | None = None,
    file_sizes: tuple[int, int] | None = None,
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
    cuts : CutComparison, optional
        Cuts of the graph, of the sparsifier and of random edges, for the figure of cuts.
    file_sizes : pair of int, optional
        Bytes of the inputs and of the output.
    """
    name = ", ".join("a pipe" if each == "-" else each for each in edges)
    parts = [
        ("html", header_strip(_header_entries(result, file_sizes))),
        ("text", f"{uses(result)} {next_step(result)}".strip()),
        *_cut_parts(result, cuts),
        *_degree_parts(result),
        *_next_step_parts(result, edges, out, reading, is_rereadable=is_rereadable),
        *_error_parts(result),
        *_input_parts(result.record(), name),
        *_output_parts(result, out),
        ("text", f"Made by graphsqueak {__version__}."),
    ]
    page = html_page(f"Sparsifier of {name}", [part for part in parts if part[1]])
    with atomic_file(path) as file:
        file.write(page.encode())


def _header_entries(result, file_sizes):
    """Yield label, value and note of the main figures."""
    n_kept = result.sparsifier.n_edges
    n_read = result.stream.n_edges_recent_
    yield "Verdict", *_short_verdict(result)
    yield "Edges", f"{n_read:,} → {n_kept:,}", f"{percent(n_kept / max(n_read, 1))} kept"
    yield (
        "Memory",
        _size_change(_BYTES_PER_EDGE * n_read, _BYTES_PER_EDGE * n_kept),
        ("as a sparse matrix"),
    )
    if file_sizes is not None:
        yield "Files", _size_change(*file_sizes), "input and output"
    certificate = result.certificate
    note = f"{result.edges_per_second:,.0f} edges per second"
    if certificate is not None and certificate.seconds:
        note = f"{certificate.seconds:,.1f} s of it to measure the error"
    yield "Time", f"{result.seconds:,.1f} s", note
    rows = result.typical_error.rows()
    if rows and not result.stream.is_exact_:
        quantity, error, baseline = max(rows, key=lambda row: row[1])
        note = f"median of {QUANTITIES[quantity]}; random edges {percent(baseline)}"
        yield "Typical error", percent(error), note
    yield "Worst case", *_short_worst_case(result)


def _short_verdict(result):
    """Return the verdict in a word or two, and a note."""
    if result.stream.is_exact_:
        return "Whole graph", "nothing was dropped"
    if result.method == "subgraph":
        return "Preconditioner", "cuts and degrees are not preserved"
    if not result.typical_error.rows():
        return "Unknown", "no typical error was measured"
    note = "for typical quantities"
    if is_random_as_accurate(result.typical_error):
        note = "and random edges are about as accurate"
    return grade(result.typical_error), note


def _short_worst_case(result):
    """Return the error of the worst cut in a few characters, and a note."""
    certificate = result.certificate
    if result.stream.is_exact_:
        return "0 %", "nothing was dropped"
    if certificate is None:
        error = result.epsilon_predicted
        return f"about {percent(error)}" if error < 1 else "above 100 %", "predicted, not measured"
    if not math.isfinite(certificate.epsilon_upper):
        return f"at least {percent(certificate.epsilon_lower)}", "no upper bound was found"
    confidence = "exact" if certificate.delta == 0 else f"probability {1 - certificate.delta:g}"
    if certificate.epsilon_upper >= 1:
        span = f"{certificate.lambda_min:.2g} to {certificate.lambda_max:.2g} times"
        return span, f"the weight of a cut ({confidence})"
    error = round_up(100 * certificate.epsilon_upper, 3)
    return f"{error} %", f"no cut is off by more ({confidence})"


def _size_change(before, after):
    # Numbers stay with their unit in narrow boxes.
    sizes = [
        readable_size(n_bytes).replace(" ", "\N{NO-BREAK SPACE}") for n_bytes in (before, after)
    ]
    return " → ".join(sizes)


def _cut_parts(result, cuts):
    """Yield the figure of cuts, if they were compared."""
    from graphsqueak.report.figure import cut_ratios

    if cuts is None or not cuts.graph.size:
        return
    errors = np.abs(cuts.sparsifier / cuts.graph - 1)
    random_errors = np.abs(cuts.random_edges / cuts.graph - 1)
    yield "heading", "Cuts"
    draw = partial(cut_ratios, cuts.graph, cuts.sparsifier, cuts.random_edges)
    yield "html", panels({"Cuts of sparsifier and of random edges, relative to the graph": draw})
    text = _CUTS.format(
        n_cuts=cuts.graph.size,
        median=percent(np.median(errors)),
        most=percent(errors.max()),
        random_median=percent(np.median(random_errors)),
        random_most=percent(random_errors.max()),
    )
    if result.method == "subgraph":
        text += " The edges are a subgraph for preconditioning, which does not preserve cuts."
    yield "text", text


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
    yield "heading", "Error in detail"
    yield "text", verdict(result)
    rows = [
        (QUANTITIES[name], percent(error), percent(baseline))
        for name, error, baseline in result.typical_error.rows()
    ]
    if rows and not result.stream.is_exact_:
        yield _table(rows, header=("median error of", "sparsifier", "random edges"))
    certificate = result.certificate
    if certificate is None or not certificate.passes:
        return
    yield "text", "The worst case over all cuts was measured:"
    yield _table(certificate.rows(), words=True)
    if certificate.ratios.size:
        yield "html", panels({"Ratios of sparsifier to graph": certificate.plot})
        yield "text", _SPECTRUM


def _degree_parts(result):
    from graphsqueak.report.figure import degree_histograms, degree_ratios

    sparsifier = result.sparsifier
    before = result.stream.degrees_
    after = sparsifier.degrees()
    # Isolated nodes have no degree to change.
    change = 100 * np.abs(after - before) / np.where(before > 0, before, 1.0)
    yield "heading", "Degrees"
    drawings = {
        "Degrees of graph and sparsifier": partial(degree_histograms, before, after),
        "Ratios of degrees, sparsifier to graph": partial(degree_ratios, before, after),
    }
    yield "html", panels(drawings)
    yield (
        "text",
        _DEGREES.format(
            about_weights=_describe_weights(result),
            median=_format_number(np.median(change) if change.size else 0.0),
            most=_format_number(change.max(initial=0.0)),
        ),
    )
    ends = np.concatenate([sparsifier.tail, sparsifier.head])
    n_kept = np.bincount(ends, minlength=sparsifier.n_nodes)
    largest = np.argsort(-before, kind="stable")[:_N_NODES_SHOWN]
    ids = sparsifier.ids[largest].astype(str)
    yield _table(
        zip(ids, before[largest], after[largest], n_kept[largest], strict=True),
        header=("node", "in the graph", "in the sparsifier", "edges kept"),
        caption="Degrees of the nodes of largest degree",
    )


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
