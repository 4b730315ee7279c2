"""graphsqueak sparsify --report: one page about what was read, what was kept and how good it is."""

import math
import shlex

from graphsqueak.cli.options import readable_size
from graphsqueak.cli.place import check_drawing, check_place

__all__ = ["check_report", "write_report"]

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


def check_report(path):
    """Refuse a report that could not be drawn or written, before the work."""
    check_drawing("--report")
    check_place(path, option="--report")


def write_report(path, made, record, *, edges, out):
    """Write the page, whole or not at all.

    Parameters
    ----------
    path : str
    made : Corrected
        Sparsifier, certificate (or None) and stream.
    record : dict
        As printed by --json.
    edges, out : str
        Names of what was read and written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from graphsqueak.report.page import html_page
    from graphsqueak.system.atomic import atomic_file

    parts = [*_what_was_read(record, edges), *_what_was_kept(made, record, out)]
    parts += [*_how_good(made), *_degrees(made), *_repeated(record, edges, out)]
    pyplot.close("all")
    with atomic_file(path) as file:
        file.write(html_page(f"Sparsifier of {edges}", parts).encode())


def _what_was_read(record, edges):
    from graphsqueak.report.table import html_table

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


def _what_was_kept(made, record, out):
    from graphsqueak.report.table import html_table

    share = record["edges_kept"] / max(record["edges_read"], 1)
    rows = [
        ("output", out),
        ("nodes", f"{made.sparsifier.n_nodes:,} (all of them)"),
        ("edges", f"{record['edges_kept']:,} ({share:.2%} of those read)"),
        ("their weight", f"{made.sparsifier.weight.sum():.6g}"),
        ("weight of the graph", f"{made.stream.degrees_.sum() / 2:.6g}"),
        ("seed", "none given" if record["seed"] is None else record["seed"]),
    ]
    yield "heading", "What was kept"
    yield "html", html_table(rows, words=True)


def _how_good(made):
    from graphsqueak.report.page import picture
    from graphsqueak.report.table import html_table

    certificate = made.certificate
    yield "heading", "How good it is"
    if certificate is None:
        yield "text", _UNCERTIFIED.format(made.stream.epsilon_predicted_)
        return
    yield "text", certificate.in_words()
    figures = [(name, _short(value), said) for name, value, said in certificate.rows()]
    yield "html", html_table(figures, words=True)
    if certificate.ratios.size:
        yield "text", _SPECTRUM
        yield "html", picture(certificate.plot().figure, alt="Ratios of sparsifier to graph")[1]


def _degrees(made):
    import numpy as np

    from graphsqueak.report.figure import degrees_of_both
    from graphsqueak.report.page import picture
    from graphsqueak.report.table import html_table

    sparsifier, whole = made.sparsifier, made.stream.degrees_
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


def _repeated(record, edges, out):
    from graphsqueak import __version__

    yield "heading", "Check it yourself"
    yield "code", f"graphsqueak certify {shlex.quote(edges)} {shlex.quote(out)}"
    yield "text", f"Made by graphsqueak {__version__}."


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) and math.isfinite(value) else str(value)
