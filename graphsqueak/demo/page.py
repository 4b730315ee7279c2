"""The demo's page: its table, two figures, and commands for the files that it leaves behind."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from graphsqueak.datasets import Points
from graphsqueak.demo.measure import Row
from graphsqueak.demo.study import KEEP, MailGraph, neighbor_count
from graphsqueak.errors import InputError
from graphsqueak.sparsifiers import Certificate
from graphsqueak.sparsifiers.result import measured_error

__all__ = [
    "FILES",
    "OWN_MAILS",
    "accuracy_table",
    "commands",
    "lesson",
    "open_folder",
    "write_files",
]

FILES = ("rows.csv", "accuracy.png", "spectrum.png", "index.html", "mails.npz", "labels.csv")
OWN_MAILS = (
    "With mails of your own, give neighbors their folder, mbox or csv in place of mails.npz, and "
    "--labels FILE for a table of all mails in which you fill in some labels."
)
_LABELS = 100
_LESSON = (
    "Given a dense graph, hold a twentieth of it and read it three times: the labels are those of "
    "all of it. In one pass, with exact sums at labeled nodes, they are nearly as good; a plain "
    "sparsifier of the same size keeps cuts and resistances, not these decisions. Free to choose "
    "the graph of your mails, take few neighbors: that is better than any of the dense ones, and "
    "small already."
)
_TOO_FEW = (
    "Too few mails to learn from: a twentieth of so small a graph is four edges a mail. Run it "
    "without --quick to see when to sparsify."
)


def lesson(*, quick: bool) -> str:
    """What is learned from the table."""
    return _TOO_FEW if quick else _LESSON


def commands(folder: Path, mails: Points) -> list[str]:
    """Return commands that work on the files left in `folder`, in this order.

    A graph of few neighbors is labeled as it is; the dense one is sparsified first.
    """
    few, dense = (str(folder / name) for name in ("few.parquet", "dense.parquet"))
    points, labels = str(folder / "mails.npz"), str(folder / "labels.csv")
    sparse, report = str(folder / "sparse.parquet"), str(folder / "report.html")
    k = str(neighbor_count(mails))
    return [
        shlex.join(["graphsqueak", *words])
        for words in (
            ["neighbors", points, "-k", "10", "-o", few],
            ["label", few, labels, "-o", str(folder / "labeled.csv"), "--method", "stable-hfs"],
            ["neighbors", points, "-k", k, "-o", dense],
            ["sparsify", dense, "-o", sparse, "--keep", str(KEEP), "--report", report],
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
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{path} is a file; give a folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_files(
    folder: Path,
    graph: MailGraph,
    certificate: Certificate,
    rows: Sequence[Row],
    *,
    quick: bool,
) -> None:
    """Write rows.csv, accuracy.png, spectrum.png, index.html, and mails.npz and labels.csv.

    Parameters
    ----------
    folder : Path
    graph : MailGraph
    certificate : Certificate
        Of its sparsifier.
    rows : sequence of Row
        What was measured on it.
    quick : bool
        Whether these are few mails only, from which nothing is learned.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from graphsqueak.report.figure import accuracy_against
    from graphsqueak.report.page import html_page, picture
    from graphsqueak.report.table import html_table
    from graphsqueak.sources import write_columns
    from graphsqueak.system.atomic import atomic_file

    records = [asdict(row) for row in rows]
    columns = {key: [record[key] for record in records] for key in records[0]}
    write_columns(columns, folder / "rows.csv")
    _write_mails(graph.mails, folder)
    labels = graph.mails.labels
    floor = max(labels.mean(), 1 - labels.mean())
    drawn = accuracy_against(records, label="edges held", floor=floor)
    accuracy, accuracy_html = picture(drawn, alt="Accuracy of every method against its edges")
    spectrum, spectrum_html = picture(
        certificate.plot().figure, alt="Spectrum of the sparsifier against the graph"
    )
    pyplot.close("all")
    header, cells = accuracy_table(rows)
    parts = [
        ("text", f"{graph.sparsifier.n_nodes:,} mails of the SpamAssassin public corpus; every "
            f"mail joined to a sixth of all others: {graph.n_edges:,} edges, read as a stream."),
        ("text", f"A sparsifier of {graph.sparsifier.n_edges:,} edges, in one pass and "
            f"{graph.seconds:.1f} s: {measured_error(certificate)}. "
            f"{certificate.in_words()}"),
        ("html", html_table(cells, header=header)),
        ("text", "Accuracy over the mails without a label, mean of several draws, bars "
            "of one standard error; the dotted line says ham to everything. Seconds are those of "
            "one fit; MB is 16 bytes for every edge held."),
        ("html", accuracy_html),
        ("text", lesson(quick=quick)),
        ("text", "Give every mail a number, and add up over all edges their weight times the "
            "squared difference at their two ends: that is x'Lx, and with the numbers 0 and 1 the "
            "weight of a cut. Over all directions that such numbers can take, this is how much of "
            "the graph's sum the sparsifier has; nothing lies outside the dashed lines."),
        ("html", spectrum_html),
        ("text", "The same by hand, with the files in this folder, from where the demo was run:"),
        *(("command", command) for command in commands(folder, graph.mails)),
        ("text", OWN_MAILS),
    ]  # fmt: skip
    page = html_page("Spam: when to sparsify a graph", parts)
    files = {"accuracy.png": accuracy, "spectrum.png": spectrum, "index.html": page.encode()}
    for name, data in files.items():
        with atomic_file(folder / name) as file:
            file.write(data)


def _write_mails(mails, folder):
    """The mails as points, and a table of labels: some are given, all have their truth."""
    import numpy as np

    from graphsqueak.sources import write_columns
    from graphsqueak.system.atomic import atomic_file

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
    is_given = np.arange(truth.size) % (truth.size // _LABELS) == 0
    label = np.where(is_given, truth, None)
    write_columns({"node": mails.ids, "label": label, "truth": truth}, folder / "labels.csv")
