"""Files that the demo leaves behind: its inputs, its results, and a page about the run."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

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
from graphsqueak.report.curves import accuracy_against
from graphsqueak.report.figure import cut_ratios, draw_layout, layout_limits, pyplot
from graphsqueak.report.page import header_strip, html_page, panels, wide_picture
from graphsqueak.report.table import html_table, percent
from graphsqueak.sources import write_columns
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

FILES = ("dense.parquet", "sparsifier.parquet", "mails.npz", "labels.csv", "index.html")
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
    """Return what was kept, and how large the error is."""
    n_edges = sparsified.sparsifier.n_edges
    size = readable_size(sparsified.path.stat().st_size)
    certificate = sparsified.certificate
    errors, random_errors = _cut_errors(sparsified.cuts)
    return [
        f"One pass keeps {100 * KEEP:g} %: {n_edges:,} edges, {_matrix_size(n_edges)} of memory "
        f"and {size} on disk, in {sparsified.seconds:.1f} s.",
        f"Half of {errors.size} cuts, between groups of all sizes, are within "
        f"{percent(np.median(errors))} of the graph's; for as many random edges it is "
        f"{percent(np.median(random_errors))}. Worst case: {certificate.in_words()}",
    ]


def describe_labels(labeled: Labeled) -> str:
    """Return how the labels after three passes compare with those of the whole graph."""
    return (
        f"{labeled.n_known} mails have a known label, spam or ham. With all edges in memory, "
        f"{100 * labeled.exact.accuracy:.1f} % of the others are labeled correctly; with "
        f"{100 * KEEP:g} % in memory and {MAX_PASSES} passes over the file "
        f"({labeled.seconds:.1f} s), {100 * labeled.three_passes.accuracy:.1f} %. Of "
        f"{labeled.n_predicted:,} labels, {_n_same(labeled, labeled.three_passes):,} are the same. "
        f"As many random edges, in one pass, give the same label to "
        f"{_n_same(labeled, labeled.random_edges):,} mails, and the sparsifier alone to "
        f"{_n_same(labeled, labeled.sparsifier):,}."
    )


def describe_chosen_graph(dense: DenseGraph, labeled: Labeled) -> str:
    """Return the accuracy on a graph of few neighbors, which needs no sparsifier."""
    chosen = labeled.few_neighbors
    fraction = chosen.n_edges / dense.n_edges
    return (
        f"If you can choose the graph, choose few neighbors: with the {N_NEIGHBORS_CHOSEN} nearest "
        f"neighbors per mail it has {chosen.n_edges:,} edges ({100 * fraction:.1f} %), and "
        f"{100 * chosen.accuracy:.1f} % of the labels are correct. It needs no sparsifier. "
        "Sparsifiers are for graphs that are given dense."
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
    """Write index.html; with `rows`, rows.csv as well.

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
    kept, errors = describe_sparsifier(sparsified)
    cuts = sparsified.cuts
    draw_cuts = partial(cut_ratios, cuts.graph, cuts.sparsifier, cuts.random_edges)
    comparison = []
    if rows:
        _write_rows(rows, folder)
        comparison = _comparison(rows, dense)
    parts = [
        ("html", header_strip(_header_entries(dense, sparsified, labeled))),
        ("heading", "Memory and file size"),
        ("text", describe_dense_graph(dense)),
        ("text", kept),
        ("heading", "The same cuts"),
        ("html", panels({"Cuts of sparsifier and of random edges": draw_cuts})),
        ("text", "A cut is the total weight between a group of mails and all others. Each mark is "
            "a cut: its weight in the graph from left to right, and upwards the weight that the "
            "kept edges have instead, which is 1 if nothing changed. " + errors),
        ("heading", "The same labels"),
        ("text", describe_labels(labeled)),
        ("html", _label_table(labeled)),
        ("heading", "The same picture"),
        ("html", panels(_layout_drawings(layout))),
        ("text", "Every mail is a point, and its color is the label after three passes. Its "
            "coordinates are two eigenvectors of all edges, of the sparsifier, and of as many "
            "random edges, turned so that they are as close to those of all edges as possible. "
            "Their similarity to those of all edges, which is 1 for a perfect copy, is "
            f"{layout.similarity_of_sparsifier:.3f} for the sparsifier and "
            f"{layout.similarity_of_random_edges:.3f} for random edges."),
        *comparison,
        ("heading", "The worst case"),
        ("html", panels({"Ratios of sparsifier to graph": sparsified.certificate.plot})),
        ("text", f"Certificate: {sparsified.certificate}. Assign a number to every mail, and sum "
            "over all edges the weight times the squared difference of the numbers at the two "
            "ends: this is x'Lx, and for the numbers 0 and 1 it is the weight of a cut. The figure "
            "shows the ratio of the sparsifier's sum to the graph's, over all independent choices "
            "of numbers (dimensions). No ratio is outside the dashed lines."),
        ("heading", "If you can choose the graph"),
        ("text", describe_chosen_graph(dense, labeled)),
        ("heading", "The same steps as commands"),
        ("text", "With the files in this folder, from the folder in which the demo was run:"),
        *(("command", command) for command in commands(folder)),
        ("text", OWN_MAILS),
    ]  # fmt: skip
    with atomic_file(folder / "index.html") as file:
        file.write(html_page("A dense graph and its sparsifier", parts).encode())


def _header_entries(dense, sparsified, labeled):
    """Yield label, value and note of the main figures."""
    n_kept = sparsified.sparsifier.n_edges
    errors, random_errors = _cut_errors(sparsified.cuts)
    certificate = sparsified.certificate
    n_random = _n_same(labeled, labeled.random_edges)
    yield "Edges", f"{dense.n_edges:,} → {n_kept:,}", f"in one pass of {sparsified.seconds:.1f} s"
    memory = [_matrix_size(n_edges) for n_edges in (dense.n_edges, n_kept)]
    yield "Memory", _change(memory), "as a sparse matrix"
    files = [readable_size(path.stat().st_size) for path in (dense.path, sparsified.path)]
    yield "Files", _change(files), "Parquet"
    n_same = _n_same(labeled, labeled.three_passes)
    yield (
        "Same labels",
        f"{n_same:,} of {labeled.n_predicted:,}",
        f"after {MAX_PASSES} passes; random edges: {n_random:,}",
    )
    yield (
        "Typical error",
        percent(np.median(errors)),
        f"median of cuts; random edges {percent(np.median(random_errors))}",
    )
    yield (
        "Worst case",
        f"{math.ceil(1000 * certificate.epsilon_upper) / 10:g} %",
        f"no cut is off by more ({_confidence(certificate)})",
    )


def _confidence(certificate):
    return "exact" if certificate.delta == 0 else f"probability {1 - certificate.delta:g}"


def _change(sizes):
    # Numbers stay with their unit in narrow boxes.
    return " → ".join(size.replace(" ", "\N{NO-BREAK SPACE}") for size in sizes)


def _cut_errors(cuts):
    """Return the relative errors of cuts, of the sparsifier and of random edges."""
    return np.abs(cuts.sparsifier / cuts.graph - 1), np.abs(cuts.random_edges / cuts.graph - 1)


def _n_same(labeled, labeling):
    """Return the number of labels that are those of the whole graph."""
    return labeled.n_predicted - labeling.n_different


def _label_table(labeled):
    """Return a row per way of labeling: edges in memory, equal labels, and accuracy."""
    named = {
        "all edges": labeled.exact,
        f"{MAX_PASSES} passes": labeled.three_passes,
        "the sparsifier alone, one pass": labeled.sparsifier,
        "random edges, one pass": labeled.random_edges,
    }
    cells = [
        (
            name,
            f"{labeling.n_edges:,}",
            f"{_n_same(labeled, labeling) / labeled.n_predicted:.2%}",
            f"{labeling.accuracy:.1%}",
        )
        for name, labeling in named.items()
    ]
    return html_table(cells, header=("labeled with", "edges in memory", "same labels", "correct"))


def _layout_drawings(layout):
    """Return a function per panel that draws the mails, all on the same scale."""
    places = {
        "all edges": layout.on_graph,
        "sparsifier": layout.on_sparsifier,
        "as many random edges": layout.on_random_edges,
    }
    limits = layout_limits(list(places.values()))
    return {
        f"The mails in the plane: {title}": partial(
            draw_layout,
            place,
            layout.is_spam,
            ("ham", "spam"),
            title=title,
            limits=limits,
        )
        for title, place in places.items()
    }


def _comparison(rows, dense):
    """Return the parts of the page about the comparison of methods."""
    spam_fraction = dense.mails.labels.mean()
    figure = accuracy_against(
        [asdict(row) for row in rows],
        label="edges in memory",
        floor=max(spam_fraction, 1 - spam_fraction),
    )
    figure_html = wide_picture(figure, alt="Accuracy of every method against its edges")
    pyplot().close(figure)
    header, cells = accuracy_table(rows)
    return [
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


def _write_rows(rows, folder):
    records = [asdict(row) for row in rows]
    columns = {key: [record[key] for record in records] for key in records[0]}
    write_columns(columns, folder / "rows.csv")


def _matrix_size(n_edges):
    """Return the memory of a symmetric scipy matrix: 8 + 4 bytes for each of two entries."""
    return readable_size(24 * n_edges)
