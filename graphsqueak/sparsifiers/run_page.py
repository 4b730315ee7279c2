"""HTML report of a run: verdict, input, output, measured error and degrees."""

import math
import os
import shlex
from collections.abc import Sequence

import numpy as np

from graphsqueak import __version__
from graphsqueak.report.page import html_page, picture
from graphsqueak.report.table import html_table
from graphsqueak.sparsifiers.result import SparsifyResult, error_in_short, next_step, uses, verdict
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.memory import readable_size

__all__ = ["write_report"]

# Rows of the table of nodes.
_N_NODES_SHOWN = 10
# Largest relative change of a degree that counts as preserved.
_DEGREE_TOLERANCE = 0.1
_DEGREES = (
    "A node's degree is the total weight of its edges. {about_weights} On the left are the degrees "
    "of the graph and of the sparsifier, on the right their ratio, which is 1 at a node that keeps "
    "its degree. {fraction:.0%} of the nodes have their degree within {tolerance:.0%}."
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
    import matplotlib

    # Without a display.
    matplotlib.use("Agg")
    from matplotlib import pyplot

    record = result.record()
    name = ", ".join("a pipe" if each == "-" else each for each in edges)
    parts = [
        *_verdict_parts(result),
        *_next_step_parts(result, edges, out, reading, is_rereadable=is_rereadable),
        *_input_parts(result, record, name),
        *_output_parts(result, record, out),
        *_error_parts(result),
        *_degree_parts(result),
    ]
    pyplot.close("all")
    with atomic_file(path) as file:
        file.write(html_page(f"Sparsifier of {name}", parts).encode())


def _verdict_parts(result):
    n_kept = result.sparsifier.n_edges
    yield "heading", "Verdict"
    yield (
        "text",
        f"{n_kept:,} of {result.n_edges_counted:,} edges were kept: {error_in_short(result)}.",
    )
    yield "text", f"{verdict(result)} {uses(result)} {next_step(result)}"
    error = result.probe_error
    if error is not None and math.isfinite(error) and not result.stream.is_whole_:
        yield (
            "text",
            "That is the worst case: of eight random groups of nodes none is off by more than "
            f"{error:.2g}.",
        )


def _next_step_parts(result, edges, out, reading, *, is_rereadable):
    """Yield commands and code for working with the result."""
    yield "heading", "What to do next"
    if is_rereadable and next_step(result) and not result.stream.is_whole_:
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


def _input_parts(result, record, name):
    time = f"{record['seconds']:,.1f} s"
    if result.certificate is not None and result.certificate.passes:
        time += f", including {result.certificate.seconds:,.1f} s to measure the error"
    rows = [
        ("input", name),
        ("nodes", f"{record['nodes']:,}"),
        ("edges", f"{record['edges_read']:,}"),
    ]
    if result.span is not None:
        rows.append(("not too old", f"{result.n_edges_counted:,}"))
    rows.append(("connected components", f"{record['components']:,}"))
    dropped = {
        "self-loops, dropped": record.get("self_loops"),
        "edges of weight zero, dropped": record.get("zero_weights"),
        "unreadable lines, skipped": record.get("bad_lines"),
    }
    rows += [(reason, f"{count:,}") for reason, count in dropped.items() if count]
    rows += [("time", time), ("peak memory", readable_size(record["peak_rss_bytes"]))]
    yield "heading", "Input"
    yield "html", html_table(rows, words=True)


def _output_parts(result, record, out):
    fraction = record["edges_kept"] / max(result.n_edges_counted, 1)
    base = "those read" if result.span is None else "those that are not too old"
    rows = [
        ("output", out),
        ("nodes", f"{result.sparsifier.n_nodes:,} (all of them)"),
        ("edges", f"{record['edges_kept']:,} ({fraction:.2%} of {base})"),
        ("total weight", _format_number(result.sparsifier.weight.sum())),
        ("total weight of the graph", _format_number(result.stream.degrees_.sum() / 2)),
        ("seed", "none given" if record["seed"] is None else record["seed"]),
    ]
    yield "heading", "Output"
    yield "html", html_table(rows, words=True)


def _error_parts(result):
    certificate = result.certificate
    if certificate is None or not certificate.passes:
        return
    if certificate.delta == 0:
        confidence = "always"
    else:
        confidence = f"with probability {1 - certificate.delta:g}"
    rescaled = _format_number(certificate.epsilon_rescaled)
    rows = [
        ("error found", certificate.epsilon_lower, "an error of this size was found"),
        ("error proved", certificate.epsilon_upper, f"no error is larger, {confidence}"),
        ("smallest ratio", certificate.lambda_min, "no cut has less of the graph's weight"),
        ("largest ratio", certificate.lambda_max, "no cut has more of the graph's weight"),
        ("kappa", certificate.kappa, "largest ratio over smallest ratio"),
        (
            "optimal scale",
            certificate.optimal_scale,
            f"for all weights: the error is then at most {rescaled}",
        ),
    ]
    rows = [(name, _format_number(value), meaning) for name, value, meaning in rows]
    if certificate.minimizing_pair is not None:
        rows += [
            (
                "too light",
                " and ".join(map(str, certificate.minimizing_pair)),
                "mostly between these",
            ),
            (
                "too heavy",
                " and ".join(map(str, certificate.maximizing_pair)),
                "mostly between these",
            ),
        ]
    rows.append(("passes", f"{certificate.passes:,}", "over the edges, to measure the error"))
    yield "heading", "Measured error"
    yield "text", "A cut is the total weight between a group of nodes and all others."
    yield "html", html_table(rows, words=True)
    if certificate.ratios.size:
        yield "text", _SPECTRUM
        yield "html", picture(certificate.plot().figure, alt="Ratios of sparsifier to graph")[1]


def _degree_parts(result):
    from graphsqueak.report.figure import degrees_of_both

    sparsifier = result.sparsifier
    before = result.stream.degrees_
    after = sparsifier.degrees()
    is_preserved = np.abs(after - before) <= _DEGREE_TOLERANCE * before
    yield "heading", "Degrees"
    yield (
        "text",
        _DEGREES.format(
            about_weights=_describe_weights(result),
            fraction=is_preserved.mean() if is_preserved.size else 1.0,
            tolerance=_DEGREE_TOLERANCE,
        ),
    )
    yield "html", picture(degrees_of_both(before, after), alt="Degrees of graph and sparsifier")[1]
    n_kept = np.bincount(sparsifier.tail, minlength=sparsifier.n_nodes)
    n_kept += np.bincount(sparsifier.head, minlength=sparsifier.n_nodes)
    rows = [
        (
            sparsifier.ids[node],
            _format_number(before[node]),
            _format_number(after[node]),
            f"{n_kept[node]:,}",
        )
        for node in np.argsort(-before, kind="stable")[:_N_NODES_SHOWN]
    ]
    header = ("node", "degree in the graph", "in the sparsifier", "edges kept")
    yield "html", html_table(rows, header=header, caption="The nodes of largest degree")
    yield "text", f"Made by graphsqueak {__version__}."


def _describe_weights(result):
    """Return how the weights of the sparsifier follow from those of the graph."""
    if result.stream.is_whole_:
        return "Nothing was dropped, so that every node has its degree."
    if result.method == "subgraph":
        return _SUBGRAPH.format(factor=result.factor)
    is_scaled = result.method == "fast" and result.config.options.rescale_to_degrees
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
