"""One page about a run: what was read, what was kept, and how good it is."""

import math
import os
import shlex

import numpy as np

from graphsqueak import __version__
from graphsqueak.report.page import html_page, picture
from graphsqueak.report.table import html_table
from graphsqueak.sparsifiers.run import RunResult
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.memory import readable_size

__all__ = ["write_report"]

_HEAVIEST = 10
_DEGREES = (
    "A node's degree is the total weight of its edges. The sparsifier has fewer edges, and heavier "
    "ones, so that every node keeps nearly the degree it has in the graph: on the left the two "
    "should cover each other, on the right all nodes should lie close to 1."
)
_SPECTRUM = (
    "Give every node a number, and add up over all edges their weight times the squared difference "
    "of their two ends (with the numbers 0 and 1 that is the weight of a cut). The figure shows "
    "how often, over all directions such numbers can take, the sparsifier's sum is which multiple "
    "of the graph's. Nothing lies outside the dashed lines; a perfect copy has everything at 1."
)
_UNCERTIFIED = (
    "Not measured: what follows from the number of edges, if the graph is dense, is an error of "
    "about {:.2g}. Run with --certify on a file (not a pipe) to have it measured, with a figure "
    "of the spectrum."
)


def write_report(result: RunResult, path: str | os.PathLike, *, edges: str, out: str) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    result : RunResult
    path : path
        Of the HTML file.
    edges, out : str
        Names of what was read and written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    record = result.record()
    parts = [*_what_was_read(record, edges), *_what_was_kept(result, record, out)]
    parts += [*_how_good(result), *_degrees(result), *_how_to_check(edges, out)]
    pyplot.close("all")
    with atomic_file(path) as file:
        file.write(html_page(f"Sparsifier of {edges}", parts).encode())


def _what_was_read(record, edges):
    dropped = {
        "edges of a node to itself, dropped": record.get("self_loops"),
        "edges of weight zero, dropped": record.get("zero_weights"),
        "unreadable lines, skipped": record.get("bad_lines"),
    }
    rows = [
        ("input", edges),
        ("nodes", f"{record['nodes']:,}"),
        ("edges", f"{record['edges_read']:,}"),
        ("connected pieces", f"{record['components']:,}"),
        *((name, f"{count:,}") for name, count in dropped.items() if count),
        ("time", f"{record['seconds']:,.1f} s, certificate included"),
        ("most memory", readable_size(record["peak_rss_bytes"])),
    ]
    yield "heading", "What was read"
    yield "html", html_table(rows, words=True)


def _what_was_kept(result, record, out):
    share = record["edges_kept"] / max(record["edges_read"], 1)
    rows = [
        ("output", out),
        ("nodes", f"{result.sparsifier.n_nodes:,} (all of them)"),
        ("edges", f"{record['edges_kept']:,} ({share:.2%} of those read)"),
        ("their weight", f"{result.sparsifier.weight.sum():.6g}"),
        ("weight of the graph", f"{result.stream.degrees_.sum() / 2:.6g}"),
        ("seed", "none given" if record["seed"] is None else record["seed"]),
    ]
    yield "heading", "What was kept"
    yield "html", html_table(rows, words=True)


def _how_good(result):
    certificate = result.certificate
    yield "heading", "How good it is"
    if certificate is None:
        yield "text", _UNCERTIFIED.format(result.stream.epsilon_predicted_)
        return
    yield "text", certificate.in_words()
    figures = [(name, _short(value), said) for name, value, said in certificate.rows()]
    yield "html", html_table(figures, words=True)
    if certificate.ratios.size:
        yield "text", _SPECTRUM
        yield "html", picture(certificate.plot().figure, alt="Ratios of sparsifier to graph")[1]


def _degrees(result):
    from graphsqueak.report.figure import degrees_of_both

    sparsifier, whole = result.sparsifier, result.stream.degrees_
    sparse = sparsifier.degrees()
    yield "heading", "Degrees"
    yield "text", _DEGREES
    yield "html", picture(degrees_of_both(whole, sparse), alt="Degrees of graph and sparsifier")[1]
    n_kept = np.bincount(sparsifier.tail, minlength=sparsifier.n_nodes)
    n_kept += np.bincount(sparsifier.head, minlength=sparsifier.n_nodes)
    first = np.argsort(-whole, kind="stable")[:_HEAVIEST]
    rows = [
        (sparsifier.ids[node], f"{whole[node]:,.6g}", f"{sparse[node]:,.6g}", f"{n_kept[node]:,}")
        for node in first
    ]
    header = ("node", "degree in the graph", "in the sparsifier", "edges kept")
    yield "html", html_table(rows, header=header, caption="The nodes of largest degree")


def _how_to_check(edges, out):
    yield "heading", "Check it yourself"
    yield "code", f"graphsqueak certify {shlex.quote(edges)} {shlex.quote(out)}"
    yield "text", f"Made by graphsqueak {__version__}."


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) and math.isfinite(value) else str(value)
