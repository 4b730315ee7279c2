"""Files that the demo leaves behind: its inputs, figures, and a page that describes the run."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from graphsqueak.demo.evaluation import Row
from graphsqueak.demo.workflow import (
    KEEP,
    MAX_PASSES,
    N_NEIGHBORS_CHOSEN,
    DenseGraph,
    Labeled,
    Layout,
    Sparsified,
)
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.memory import readable_size
from graphsqueak.system.paths import local_path

__all__ = [
    "FILES",
    "OWN_MAILS",
    "accuracy_table",
    "commands",
    "describe_chosen_graph",
    "describe_dense_graph",
    "describe_labels",
    "describe_sparsifier",
    "open_folder",
    "write_inputs",
    "write_page",
]

FILES = ("dense.parquet", "mails.npz", "labels.csv", "clusters.png", "spectrum.png", "index.html")
OWN_MAILS = (
    "For your own mails, give neighbors their folder, mbox or csv instead of mails.npz, and "
    "--label-template PATH to write a table of all mails, in which you fill in some labels."
)


def describe_dense_graph(dense: DenseGraph) -> str:
    """Return what is given, and how much memory it would take."""
    size = readable_size(dense.path.stat().st_size)
    return (
        f"A dense graph is given: {len(dense.mails.labels):,} mails, each joined to its "
        f"{dense.n_neighbors:,} nearest neighbors, {dense.n_edges:,} edges, {size} on disk. As a "
        f"scipy matrix it takes {_matrix_size(dense.n_edges)} of memory; a billion edges take "
        f"{_matrix_size(10**9)}."
    )


def describe_sparsifier(sparsified: Sparsified) -> list[str]:
    """Return what was kept, and what the certificate proves."""
    n_edges = sparsified.sparsifier.n_edges
    certificate = sparsified.certificate
    return [
        f"One pass keeps {100 * KEEP:g} %: {n_edges:,} edges, {_matrix_size(n_edges)}, in "
        f"{sparsified.seconds:.1f} s.",
        f"Certificate: {certificate}. {certificate.in_words()}",
    ]


def describe_labels(labeled: Labeled) -> str:
    """Return how the labels after three passes compare with those of the whole graph."""
    n_same = labeled.n_predicted - labeled.n_different
    return (
        f"{labeled.n_known} mails have a known label, spam or ham. With all edges in memory, "
        f"{100 * labeled.accuracy_exact:.1f} % of the others are labeled correctly; with "
        f"{100 * KEEP:g} % in memory and {MAX_PASSES} passes over the file "
        f"({labeled.seconds:.1f} s), {100 * labeled.accuracy_sparse:.1f} %. Of "
        f"{labeled.n_predicted:,} labels, {n_same:,} are the same."
    )


def describe_chosen_graph(dense: DenseGraph, labeled: Labeled) -> str:
    """Return the accuracy on a graph of few neighbors, which needs no sparsifier."""
    fraction = labeled.n_edges_chosen / dense.n_edges
    return (
        "If you can choose the graph, choose few neighbors: with the "
        f"{N_NEIGHBORS_CHOSEN} nearest neighbors per mail it has {labeled.n_edges_chosen:,} edges "
        f"({100 * fraction:.1f} %), and {100 * labeled.accuracy_chosen:.1f} % of the labels are "
        "correct. It needs no sparsifier. Sparsifiers are for graphs that are given dense."
    )


def commands(folder: Path) -> list[str]:
    """Return commands that work on the files in `folder`, in this order.

    The dense graph is described, sparsified and labeled; then a graph of few neighbors is written
    and labeled.
    """
    dense = folder / "dense.parquet"
    labels = folder / "labels.csv"
    sparse = folder / "sparse.parquet"
    report = folder / "report.html"
    labeled = folder / "labeled.csv"
    few_edges = folder / "few.parquet"
    few_labeled = folder / "few_labeled.csv"
    command_lines = [
        ["info", dense],
        ["sparsify", dense, "-o", sparse, "--keep", KEEP, "--report", report],
        ["label", dense, labels, "-o", labeled, "--keep", KEEP, "--max-passes", MAX_PASSES],
        ["neighbors", folder / "mails.npz", "-k", N_NEIGHBORS_CHOSEN, "-o", few_edges],
        ["label", few_edges, labels, "-o", few_labeled, "--method", "in-memory"],
    ]
    return [shlex.join(["graphsqueak", *map(str, words)]) for words in command_lines]


def accuracy_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells: a row per method, its accuracy at each number of labels."""
    label_counts = sorted({row.labels for row in rows})
    header = ["method", "edges", "fraction", "MB", "seconds"]
    header += [f"{n_labels:,} labels" for n_labels in label_counts]
    cells = []
    for method in dict.fromkeys(row.method for row in rows):
        of_method = [row for row in rows if row.method == method]
        of_method.sort(key=lambda row: row.labels)
        largest = max(of_method, key=lambda row: row.edges)
        seconds = sum(row.seconds for row in of_method) / len(of_method)
        cells.append(
            [
                method,
                f"{largest.edges:,}",
                f"{largest.edge_fraction:.1%}",
                f"{largest.bytes / 1e6:.1f}",
                f"{seconds:.2f}",
                *(f"{row.accuracy:.3f}" for row in of_method),
            ]
        )
    return header, cells


def open_folder(path: str) -> Path:
    """Create the folder for the files, with its parents, unless it exists."""
    folder = local_path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{path} is a file; give a folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_inputs(dense: DenseGraph, folder: Path) -> None:
    """Write the points to mails.npz, and known and true labels to labels.csv."""
    import numpy as np

    from graphsqueak.sources import write_columns

    mails = dense.mails
    points = mails.points.tocsr()
    with atomic_file(folder / "mails.npz") as file:
        # The format of scipy.sparse.save_npz, and the ids of the rows.
        np.savez_compressed(
            file,
            format=np.array(b"csr"),
            shape=np.array(points.shape),
            _is_array=np.array(True),
            data=points.data,
            indices=points.indices,
            indptr=points.indptr,
            ids=mails.ids,
        )
    truth = np.where(mails.labels == 1, "spam", "ham")
    label = np.where(dense.is_labeled, truth, np.array(None))
    write_columns({"node": mails.ids, "label": label, "truth": truth}, folder / "labels.csv")


def write_page(
    folder: Path,
    dense: DenseGraph,
    sparsified: Sparsified,
    labeled: Labeled,
    layout: Layout,
    rows: Sequence[Row] = (),
) -> None:
    """Write clusters.png, spectrum.png and index.html; with `rows`, rows.csv and accuracy.png too.

    Parameters
    ----------
    folder : Path
    dense : DenseGraph
    sparsified : Sparsified
    labeled : Labeled
    layout : Layout
    rows : sequence of Row
        Figures of the comparison of methods.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    from graphsqueak.report.figure import compare_layouts
    from graphsqueak.report.page import html_page, picture

    panels = {
        f"all {dense.n_edges:,} edges": layout.on_graph,
        f"the {sparsified.sparsifier.n_edges:,} kept": layout.on_sparsifier,
    }
    files = {}
    files["clusters.png"], clusters_html = picture(
        compare_layouts(panels, layout.is_spam, ("ham", "spam")),
        alt="The mails in the plane, on the whole graph and on the sparsifier",
    )
    files["spectrum.png"], spectrum_html = picture(
        sparsified.certificate.plot().figure, alt="Spectrum of the sparsifier against the graph"
    )
    comparison = []
    if rows:
        _write_rows(rows, folder)
        files["accuracy.png"], comparison = _comparison(rows, dense)
    kept, certified = describe_sparsifier(sparsified)
    parts = [
        ("heading", "A dense graph"),
        ("text", describe_dense_graph(dense)),
        ("heading", "5 % of the edges, certified"),
        ("text", kept),
        ("text", certified),
        ("html", spectrum_html),
        ("text", "Assign a number to every mail, and sum over all edges the weight times the "
            "squared difference of the numbers at the two ends: this is x'Lx, and for the numbers "
            "0 and 1 it is the weight of a cut. The figure shows, over all directions x, how much "
            "of the graph's sum the sparsifier has. No direction is outside the dashed lines."),
        ("heading", "The same labels after three passes"),
        ("text", describe_labels(labeled)),
        ("heading", "Clusters before and after"),
        ("html", clusters_html),
        ("text", "Every mail is a point. Its coordinates are two eigenvectors of the graph (left) "
            "and of the sparsifier (right), its color is the label after three passes."),
        *comparison,
        ("heading", "If you can choose the graph"),
        ("text", describe_chosen_graph(dense, labeled)),
        ("heading", "The same steps as commands"),
        ("text", "With the files in this folder, from the folder in which the demo was run:"),
        *(("command", command) for command in commands(folder)),
        ("text", OWN_MAILS),
    ]  # fmt: skip
    pyplot.close("all")
    files["index.html"] = html_page("A dense graph and its sparsifier", parts).encode()
    for name, data in files.items():
        with atomic_file(folder / name) as file:
            file.write(data)


def _comparison(rows, dense):
    """Return a figure as PNG bytes, and the parts of the page about the comparison."""
    from graphsqueak.report.curves import accuracy_against
    from graphsqueak.report.page import picture
    from graphsqueak.report.table import html_table

    spam_fraction = dense.mails.labels.mean()
    figure = accuracy_against(
        [asdict(row) for row in rows],
        label="edges in memory",
        floor=max(spam_fraction, 1 - spam_fraction),
    )
    png, figure_html = picture(figure, alt="Accuracy of every method against its edges")
    header, cells = accuracy_table(rows)
    parts = [
        ("heading", "Comparison with other methods"),
        ("html", html_table(cells, header=header)),
        ("text", "Accuracy on the mails without a label, mean over several draws, with bars of one "
            "standard error. The dotted line is the accuracy of labeling every mail as ham. "
            "Seconds are those of one fit; MB is 16 bytes per edge in memory."),
        ("html", figure_html),
        ("text", "In one pass, with exact sums at labeled nodes (which are counted as edges here), "
            "labels are nearly as good as after three passes. A plain sparsifier preserves cuts "
            "and resistances, not these decisions."),
    ]  # fmt: skip
    return png, parts


def _write_rows(rows, folder):
    from graphsqueak.sources import write_columns

    records = [asdict(row) for row in rows]
    columns = {key: [record[key] for record in records] for key in records[0]}
    write_columns(columns, folder / "rows.csv")


def _matrix_size(n_edges):
    """Return the memory of a symmetric scipy matrix: 8 + 4 bytes for each of two entries."""
    return readable_size(24 * n_edges)
