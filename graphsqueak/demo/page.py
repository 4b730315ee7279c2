"""The demo's page: its story in words, pictures, and commands for the files it leaves behind."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from graphsqueak.datasets import Points
from graphsqueak.demo.measure import Row
from graphsqueak.demo.story import BYTES_PER_EDGE, Clusters, DenseFile, Labeled, Small
from graphsqueak.demo.study import FEW_NEIGHBORS, KEEP, PASSES
from graphsqueak.errors import InputError
from graphsqueak.sparsifiers.result import measured_error
from graphsqueak.system.memory import readable_size
from graphsqueak.system.paths import local_path

__all__ = [
    "FILES",
    "OWN_MAILS",
    "accuracy_table",
    "commands",
    "open_folder",
    "tell_choice",
    "tell_labels",
    "tell_problem",
    "tell_small",
    "write_files",
    "write_inputs",
]

FILES = ("dense.parquet", "mails.npz", "labels.csv", "clusters.png", "spectrum.png", "index.html")
OWN_MAILS = (
    "With mails of your own, give neighbors their folder, mbox or csv in place of mails.npz, and "
    "--label-template PATH for a table of all mails in which you fill in some labels."
)
_LESSON = (
    "In one pass, with exact sums at labeled nodes, labels are nearly as good as after three "
    "reads (the sums are counted as edges here); a plain sparsifier keeps cuts and resistances, "
    "not these decisions."
)


def tell_problem(dense: DenseFile) -> str:
    """Say what is given, and what it would take to hold it."""
    n_mails, size = len(dense.mails.labels), dense.path.stat().st_size
    held, huge = (readable_size(BYTES_PER_EDGE * n) for n in (dense.n_edges, 10**9))
    return (
        f"You are given a dense graph: {n_mails:,} mails, each joined to the {dense.n_neighbors:,} "
        f"most like it, {dense.n_edges:,} edges, {readable_size(size)} on disk. As a scipy matrix "
        f"it takes {held} of memory; a billion edges of that kind, {huge}."
    )


def tell_small(small: Small) -> list[str]:
    """Say what was kept, and what is proved about it."""
    n_kept = small.sparsifier.n_edges
    held = readable_size(BYTES_PER_EDGE * n_kept)
    return [
        f"Read once, {100 * KEEP:g} % is kept: {n_kept:,} edges, {held}, in {small.seconds:.1f} s.",
        f"Certificate: {measured_error(small.certificate)}. {small.certificate.in_words()}",
    ]


def tell_labels(labeled: Labeled) -> str:
    """Say how the labels of the three reads compare with those of the whole graph."""
    same = labeled.n_asked - labeled.n_different
    return (
        f"{labeled.n_given} mails have a label, spam or ham. With all edges in memory, "
        f"{100 * labeled.exact:.1f} % of the others are labeled right; with {100 * KEEP:g} % in "
        f"memory and {PASSES} reads of the file ({labeled.seconds:.1f} s), "
        f"{100 * labeled.reread:.1f} %. Of {labeled.n_asked:,} labels, {same:,} are the same."
    )


def tell_choice(dense: DenseFile, labeled: Labeled) -> str:
    """Say that a graph that may be chosen needs no sparsifier."""
    share, right = 100 * labeled.n_few / dense.n_edges, 100 * labeled.few
    better = "is more, and needs" if labeled.few > labeled.exact else "needs"
    return (
        f"But if the graph is yours to choose, choose few neighbors: joined to the {FEW_NEIGHBORS} "
        f"most like it, each mail brings {labeled.n_few:,} edges in all ({share:.1f} %), and "
        f"{right:.1f} % are right. That {better} no sparsifier; it is for graphs that come "
        "dense."
    )


def commands(folder: Path) -> list[str]:
    """Return commands that work on the files left in `folder`, in this order.

    The dense graph is looked at, sparsified and labeled; then one of few neighbors is.
    """
    names = ("dense.parquet", "sparse.parquet", "report.html", "labels.csv", "labeled.csv")
    dense, sparse, report, labels, labeled = (str(folder / name) for name in names)
    points, few, few_labeled = (
        str(folder / name) for name in ("mails.npz", "few.parquet", "few_labeled.csv")
    )
    keep = ["--keep", str(KEEP)]
    return [
        shlex.join(["graphsqueak", *words])
        for words in (
            ["info", dense],
            ["sparsify", dense, "-o", sparse, *keep, "--report", report],
            ["label", dense, labels, "-o", labeled, *keep, "--max-passes", str(PASSES)],
            ["neighbors", points, "-k", str(FEW_NEIGHBORS), "-o", few],
            ["label", few, labels, "-o", few_labeled, "--method", "stable-hfs"],
        )
    ]


def accuracy_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells: a line per method, its accuracy at each number of labels."""
    counts = sorted({row.labels for row in rows})
    header = ["method", "edges", "share", "MB", "seconds", *(f"{c:,} labels" for c in counts)]
    cells = []
    for name in dict.fromkeys(row.method for row in rows):
        own = sorted((row for row in rows if row.method == name), key=lambda row: row.labels)
        most = max(own, key=lambda row: row.edges)
        seconds = sum(row.seconds for row in own) / len(own)
        sizes = [f"{most.edges:,}", f"{most.share:.1%}", f"{most.bytes / 1e6:.1f}"]
        cells.append([name, *sizes, f"{seconds:.2f}", *(f"{row.accuracy:.3f}" for row in own)])
    return header, cells


def open_folder(path: str) -> Path:
    """Make the folder for the files, with those above it, unless it is there."""
    folder = local_path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{path} is a file; give a folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_inputs(dense: DenseFile, folder: Path) -> None:
    """Write mails.npz, the points, and labels.csv: some labels are given, all have their truth."""
    import numpy as np

    from graphsqueak.sources import write_columns
    from graphsqueak.system.atomic import atomic_file

    mails: Points = dense.mails
    points = mails.points.tocsr()
    with atomic_file(folder / "mails.npz") as file:
        np.savez_compressed(  # what scipy.sparse.save_npz writes, and the names of the rows
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
    label = truth.astype(object)
    label[~dense.given] = None
    write_columns({"node": mails.ids, "label": label, "truth": truth}, folder / "labels.csv")


def write_files(
    folder: Path,
    dense: DenseFile,
    small: Small,
    labeled: Labeled,
    clusters: Clusters,
    rows: Sequence[Row] = (),
) -> None:
    """Write clusters.png, spectrum.png and index.html; with `rows`, rows.csv and accuracy.png too.

    Parameters
    ----------
    folder : Path
    dense : DenseFile
    small : Small
    labeled : Labeled
    clusters : Clusters
    rows : sequence of Row
        What demo --full measured.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from graphsqueak.report.figure import before_and_after
    from graphsqueak.report.page import html_page, picture
    from graphsqueak.system.atomic import atomic_file

    places = {
        f"all {dense.n_edges:,} edges": clusters.before,
        f"the {small.sparsifier.n_edges:,} kept": clusters.after,
    }
    drawn = before_and_after(places, clusters.is_spam, ("ham", "spam"))
    files = {}
    files["clusters.png"], clusters_html = picture(
        drawn, alt="The mails in the plane, on the whole graph and on the sparsifier"
    )
    files["spectrum.png"], spectrum_html = picture(
        small.certificate.plot().figure, alt="Spectrum of the sparsifier against the graph"
    )
    kept, certified = tell_small(small)
    parts = [
        ("heading", "A graph that is given"),
        ("text", tell_problem(dense)),
        ("heading", "A twentieth of it, certified"),
        ("text", kept),
        ("text", certified),
        ("html", spectrum_html),
        ("text", "Give every mail a number, and add up over all edges their weight times the "
            "squared difference at their two ends: that is x'Lx, and with the numbers 0 and 1 the "
            "weight of a cut. Over all directions that such numbers can take, this is how much of "
            "the graph's sum the sparsifier has; nothing lies outside the dashed lines."),
        ("heading", "The same labels after three reads"),
        ("text", tell_labels(labeled)),
        ("heading", "Clusters before and after"),
        ("html", clusters_html),
        ("text", "Every mail is a point, laid out by two eigenvectors of the graph (left) and of "
            "the sparsifier (right), in the color of the label that the three reads gave it."),
        *_study_parts(rows, dense, files),
        ("heading", "The honest line"),
        ("text", tell_choice(dense, labeled)),
        ("heading", "By hand"),
        ("text", "The same, with the files in this folder, from where the demo was run:"),
        *(("command", command) for command in commands(folder)),
        ("text", OWN_MAILS),
    ]  # fmt: skip
    pyplot.close("all")
    files["index.html"] = html_page("A dense graph, and a twentieth of it", parts).encode()
    if rows:
        _write_rows(rows, folder)
    for name, data in files.items():
        with atomic_file(folder / name) as file:
            file.write(data)


def _study_parts(rows, dense, files):
    """The table and the figure of demo --full."""
    if not rows:
        return []
    from graphsqueak.report.curves import accuracy_against
    from graphsqueak.report.page import picture
    from graphsqueak.report.table import html_table

    share = dense.mails.labels.mean()
    drawn = accuracy_against(
        [asdict(row) for row in rows], label="edges held", floor=max(share, 1 - share)
    )
    alt = "Accuracy of every method against its edges"
    files["accuracy.png"], accuracy_html = picture(drawn, alt=alt)
    header, cells = accuracy_table(rows)
    return [
        ("heading", "Beside other methods"),
        ("html", html_table(cells, header=header)),
        ("text", "Accuracy over the mails without a label, mean of several draws, bars "
            "of one standard error; the dotted line says ham to everything. Seconds are those of "
            "one fit; MB is 16 bytes for every edge held."),
        ("html", accuracy_html),
        ("text", _LESSON),
    ]  # fmt: skip


def _write_rows(rows, folder):
    from graphsqueak.sources import write_columns

    records = [asdict(row) for row in rows]
    columns = {key: [record[key] for record in records] for key in records[0]}
    write_columns(columns, folder / "rows.csv")
