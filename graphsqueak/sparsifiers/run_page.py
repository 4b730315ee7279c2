"""One page about a run: the verdict, what was read, what was kept, and how good it is."""

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

_HEAVIEST = 10
_NEAR = 0.1  # a degree within so much of the graph's own
_DEGREES = (
    "A node's degree is the total weight of its edges. {} On the left are the degrees of the graph "
    "and of the sparsifier, on the right their ratio, which is 1 at a node that keeps its degree. "
    "{:.0%} of the nodes have their degree within {:.0%}."
)
_SCALED = (
    "The sparsifier has fewer edges, and heavier ones: weights are scaled so that their total is "
    "the graph's, and so that nodes come as close to their degree as the kept edges allow."
)
_SUBGRAPH = (
    "The edges are a subgraph, and their weights are the graph's times {:.3g}: a node loses the "
    "weight of its dropped edges, and degrees are not preserved."
)
_UNBIASED = (
    "The sparsifier has fewer edges, and heavier ones: the expectation of every weight is the "
    "graph's, and degrees are not corrected afterwards."
)
_SPECTRUM = (
    "Give every node a number, and add up over all edges their weight times the squared difference "
    "of the numbers at their two ends. If the numbers are 1 inside a group of nodes and 0 outside, "
    "that is the weight between the group and all others. This sum is called x'Lx: x are the "
    "numbers, L is the Laplacian, the matrix of the graph. The figure shows, over all independent "
    "ways of giving numbers (dimensions), which multiple of the graph's sum the sparsifier has. "
    "Nothing lies outside the dashed lines; a perfect copy has everything at 1."
)
_FROM_A_PIPE = (
    "The edges came through a pipe and cannot be read again. To have the error measured, save them "
    "in a file and run the same command on it with --certify."
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
    """Write the page, whole or not at all.

    Parameters
    ----------
    result : SparsifyResult
    path : path
        Of the HTML file.
    edges : sequence of str
        Names of what was read.
    out : str
        Name of what was written.
    is_rereadable : bool
        Whether the edges can be read again: a pipe cannot.
    reading : sequence of str
        Options of the command line that say how to read the edges, for the commands on the page.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    record = result.record()
    name = ", ".join("a pipe" if each == "-" else each for each in edges)
    again = [*edges, *reading] if is_rereadable else None
    parts = [*_verdict(result, again, out), *_what_was_read(result, record, name)]
    parts += [*_what_was_kept(result, record, out), *_how_good(result), *_degrees(result)]
    pyplot.close("all")
    with atomic_file(path) as file:
        file.write(html_page(f"Sparsifier of {name}", parts).encode())


def _verdict(result, again, out):
    """What came out, and what to type next."""
    n_kept, n_read = result.sparsifier.n_edges, result.n_edges_counted
    yield "heading", "Verdict"
    yield "text", f"{n_kept:,} of {n_read:,} edges were kept: {error_in_short(result)}."
    yield "text", f"{verdict(result)} {uses(result)} {next_step(result)}"
    error = result.probe_error
    if error is not None and math.isfinite(error) and not result.stream.is_whole_:
        probed = f"of eight random groups of nodes none is off by more than {error:.2g}"
        yield "text", f"That is the worst case: {probed}."
    yield "heading", "What to do next"
    if next_step(result) and not result.stream.is_whole_ and again is not None:
        folder, slash, name = out.rpartition("/")  # of a path or of an address
        closer = f"{folder}{slash}closer-{name}"
        yield "text", "Ask for a smaller error, and get as many edges as it needs:"
        yield "command", _command("sparsify", again, "-o", closer, "--epsilon", "0.5")
    yield "text", "Use it in Python, as the graph itself:"
    read = f"import graphsqueak as gs\nH = gs.read_edges({out!r}).to_edge_list()"
    yield "code", f"{read}\nG = H.to_networkx()  # or H.to_scipy(), or gs.compare(graph, H)"
    if again is None:
        yield "text", _FROM_A_PIPE
    else:
        yield "text", "Check the error again, or that of any other sparsifier:"
        yield "command", _command("certify", again[:1], out, *again[1:])


def _command(name, *words):
    flat = [part for word in words for part in ([word] if isinstance(word, str) else word)]
    return shlex.join(["graphsqueak", name, *flat])


def _what_was_read(result, record, name):
    dropped = {
        "edges of a node to itself, dropped": record.get("self_loops"),
        "edges of weight zero, dropped": record.get("zero_weights"),
        "unreadable lines, skipped": record.get("bad_lines"),
    }
    time = f"{record['seconds']:,.1f} s"
    if result.certificate is not None and result.certificate.passes:
        time += f", of which {result.certificate.seconds:,.1f} s to measure the error"
    rows = [
        ("input", name),
        ("nodes", f"{record['nodes']:,}"),
        ("edges", f"{record['edges_read']:,}"),
        *([] if result.span is None else [("not too old", f"{result.n_edges_counted:,}")]),
        ("connected pieces", f"{record['components']:,}"),
        *((said, f"{count:,}") for said, count in dropped.items() if count),
        ("time", time),
        ("most memory", readable_size(record["peak_rss_bytes"])),
    ]
    yield "heading", "What was read"
    yield "html", html_table(rows, words=True)


def _what_was_kept(result, record, out):
    share = record["edges_kept"] / max(result.n_edges_counted, 1)
    whose = "those read" if result.span is None else "those that are not too old"
    rows = [
        ("output", out),
        ("nodes", f"{result.sparsifier.n_nodes:,} (all of them)"),
        ("edges", f"{record['edges_kept']:,} ({share:.2%} of {whose})"),
        ("their total weight", _amount(result.sparsifier.weight.sum())),
        ("that of the graph", _amount(result.stream.degrees_.sum() / 2)),
        ("seed", "none given" if record["seed"] is None else record["seed"]),
    ]
    yield "heading", "What was kept"
    yield "html", html_table(rows, words=True)


def _how_good(result):
    certificate = result.certificate
    if certificate is None or not certificate.passes:
        return
    sure = "always" if certificate.delta == 0 else f"with probability {1 - certificate.delta:g}"
    rows = [
        ("error found", _amount(certificate.epsilon_lower), "so large an error was found"),
        ("error proved", _amount(certificate.epsilon_upper), f"no error is larger, {sure}"),
        ("lightest", _amount(certificate.lambda_min), "times the graph's weight, no cut has less"),
        ("heaviest", _amount(certificate.lambda_max), "times the graph's weight, no cut has more"),
        ("kappa", _amount(certificate.kappa), "the heaviest over the lightest, whatever the unit"),
        (
            "optimal scale",
            _amount(certificate.optimal_scale),
            f"on all weights: the error is then at most {_amount(certificate.epsilon_rescaled)}",
        ),
    ]
    if certificate.minimizing_pair is not None:
        rows += [
            (
                "too light",
                " and ".join(map(str, certificate.minimizing_pair)),
                "between these, most",
            ),
            (
                "too heavy",
                " and ".join(map(str, certificate.maximizing_pair)),
                "between these, most",
            ),
        ]
    times = "once" if certificate.passes == 1 else f"{certificate.passes:,} times"
    rows.append(("edges read", times, "to measure all this"))
    yield "heading", "How good it is"
    yield "text", "A cut is the total weight between a group of nodes and all others."
    yield "html", html_table(rows, words=True)
    if certificate.ratios.size:
        yield "text", _SPECTRUM
        yield "html", picture(certificate.plot().figure, alt="Ratios of sparsifier to graph")[1]


def _degrees(result):
    from graphsqueak.report.figure import degrees_of_both

    sparsifier, whole = result.sparsifier, result.stream.degrees_
    sparse = sparsifier.degrees()
    yield "heading", "Degrees"
    near = np.abs(sparse - whole) <= _NEAR * whole
    yield "text", _DEGREES.format(_about_weights(result), near.mean() if near.size else 1.0, _NEAR)
    yield "html", picture(degrees_of_both(whole, sparse), alt="Degrees of graph and sparsifier")[1]
    n_kept = np.bincount(sparsifier.tail, minlength=sparsifier.n_nodes)
    n_kept += np.bincount(sparsifier.head, minlength=sparsifier.n_nodes)
    first = np.argsort(-whole, kind="stable")[:_HEAVIEST]
    rows = [
        (sparsifier.ids[node], _amount(whole[node]), _amount(sparse[node]), f"{n_kept[node]:,}")
        for node in first
    ]
    header = ("node", "degree in the graph", "in the sparsifier", "edges kept")
    yield "html", html_table(rows, header=header, caption="The nodes of largest degree")
    yield "text", f"Made by graphsqueak {__version__}."


def _about_weights(result):
    """How the weights came about, and so the degrees."""
    if result.stream.is_whole_:
        return "Nothing was dropped, so that every node has its degree."
    if result.method == "subgraph":
        return _SUBGRAPH.format(result.factor)
    is_scaled = result.method == "fast" and result.config.options.rescale_to_degrees
    return _SCALED if is_scaled else _UNBIASED


def _amount(value):
    """A number as people write it: all its digits before the point, four where there are fewer.

    >>> [_amount(value) for value in (1342300.25, 85.618, 0.022761, 7.0, math.inf, 3.2e19)]
    ['1,342,300', '85.62', '0.02276', '7', 'infinite', '3.2e+19']
    """
    if not math.isfinite(value):
        return "infinite"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"
