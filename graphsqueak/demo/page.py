"""The demo's page: its table, two figures, and the commands that do the same with own files."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from graphsqueak.demo.measure import Row
from graphsqueak.demo.study import MailGraph
from graphsqueak.errors import InputError
from graphsqueak.sparsifiers import Certificate

__all__ = ["FILES", "OWN_FILES", "accuracy_table", "lesson", "open_folder", "write_files"]

FILES = ("rows.csv", "accuracy.png", "spectrum.png", "index.html")
OWN_FILES = (
    "graphsqueak neighbors my-mails -k 10 -o edges.parquet --labels labels.csv "
    "--marks --drop-common 0 --sublinear",
    "graphsqueak sparsify edges.parquet -o sparse.parquet --keep 0.05 --certify",
    "graphsqueak label edges.parquet labels.csv -o labeled.csv --keep 0.05",
)
_LESSON = (
    "Given a dense graph, keep the edges at labeled nodes apart (label-aware) and a twentieth of "
    "it labels nearly as well as all of it; a plain sparsifier of the same size keeps cuts and "
    "resistances, not these decisions. Free to choose the graph of your mails, take few "
    "neighbors: that is better than any of the dense ones, and small already."
)
_TOO_FEW = (
    "Too few mails to learn from: a twentieth of so small a graph is four edges a mail. Run it "
    "without --quick to see when to sparsify."
)


def lesson(*, quick: bool) -> str:
    """What is learned from the table."""
    return _TOO_FEW if quick else _LESSON


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
    """Write rows.csv, accuracy.png, spectrum.png and index.html.

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
            f"{graph.seconds:.1f} s: {certificate}."),
        ("html", html_table(cells, header=header)),
        ("text", "Accuracy over the mails without a label, mean of several draws, bars "
            "of one standard error; the dotted line says ham to everything. Seconds are those of "
            "one fit; MB is 16 bytes for every edge held."),
        ("html", accuracy_html),
        ("text", lesson(quick=quick)),
        ("text", "How the sparsifier's quadratic form compares with the graph's, over all "
            "directions; nothing lies outside the dashed lines."),
        ("html", spectrum_html),
        ("text", "The same with your own files:"),
        ("code", "\n".join(OWN_FILES)),
    ]  # fmt: skip
    page = html_page("Spam: when to sparsify a graph", parts)
    files = {"accuracy.png": accuracy, "spectrum.png": spectrum, "index.html": page.encode()}
    for name, data in files.items():
        with atomic_file(folder / name) as file:
            file.write(data)
