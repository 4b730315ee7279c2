"""graphsqueak demo: from mails to a labeled graph, and when to sparsify one."""

import sys
import time
from typing import Annotated

import typer

from graphsqueak.cli.options import (
    Json,
    Quiet,
    Seed,
    check_drawing,
    print_json,
    print_line,
    shows_progress,
)

__all__ = ["demo"]

_DRAWS = {20: 8, 100: 5, 1000: 3}  # fewer labels, more luck: more draws
_QUICK_DRAWS = {20: 1, 100: 1}
_OWN_FILES = (
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
_TASTE = (
    "Too few mails to learn from: a twentieth of so small a graph is four edges a mail. Run it "
    "without --quick to see when to sparsify."
)


def demo(
    out: Annotated[
        str, typer.Option("-o", "--out", help="Folder for the table, the figure and the page.")
    ] = "graphsqueak-demo",
    quick: Annotated[bool, typer.Option("--quick", help="A few mails, in seconds.")] = False,
    seed: Seed = 7,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Turn 5,876 mails into a graph of 4 million edges, sparsify, certify and label it.

    Everything is shipped with the package and measured here and now: accuracy, edges, memory and
    seconds of six methods from 20, 100 and 1,000 labels. OUT gets rows.csv, accuracy.png,
    spectrum.png and index.html.

    Example: graphsqueak demo --quick
    """
    from graphsqueak.report.table import text_table
    from graphsqueak.system.memory import peak_rss

    check_drawing("demo")
    folder = _folder(out)
    began = time.perf_counter()
    progress = shows_progress(quiet=quiet, as_json=as_json)

    def tell(text=""):
        if not quiet and not as_json:
            print_line(text)
            sys.stdout.flush()

    study, certificate, record = _graph(quick, seed, progress, tell)
    rows = _labeled(study, quick, seed, progress, tell)
    header, cells = _table(rows)
    tell("\n" + text_table(cells, header=header) + "\n")
    tell(_TASTE if quick else _LESSON)
    record |= {"seconds": time.perf_counter() - began, "peak_rss_bytes": peak_rss()}
    _write(folder, study, certificate, rows, (header, cells), record)
    tell(f"\n{record['seconds']:.0f} s, at most {record['peak_rss_bytes'] / 2**20:,.0f} MiB.")
    tell(f"Table, figures and page: {folder}/index.html\n")
    tell("The same with your own files:\n")
    for line in _OWN_FILES:
        tell(f"  {line}")
    if as_json:
        print_json(record | {"rows": rows, "out": str(folder)})


def _graph(quick, seed, progress, tell):
    """The dense neighbor graph as a stream, its sparsifier and the certificate."""
    from graphsqueak import datasets
    from graphsqueak.demo.study import KEEP, Study, neighbor_count
    from graphsqueak.sources import neighbor_edges
    from graphsqueak.sparsifiers import StreamSparsifier, certify
    from graphsqueak.sparsifiers.stream.feeding import run_stream

    mails = datasets.load_spam()
    mails = mails if not quick else _some(mails)
    k = neighbor_count(mails)
    tell(f"{len(mails.labels):,} mails, each joined to its {k:,} nearest (k = n / 6) ...")
    began = time.perf_counter()
    source = neighbor_edges(mails.points, k, progress=progress)
    stream = run_stream(StreamSparsifier(keep=KEEP, random_state=seed), source, progress=progress)
    sparsifier = stream.sparsifier()
    seconds = time.perf_counter() - began
    tell(
        f"{stream.n_edges_seen_:,} edges went by, {sparsifier.n_edges:,} were kept, "
        f"in {seconds:.1f} s."
    )
    certificate = certify(source, sparsifier, random_state=seed, progress=progress)
    tell(f"Certified by reading them again, {certificate.passes} times: {certificate}.")
    record = {
        "quick": quick,
        "nodes": stream.n_nodes_,
        "edges_read": stream.n_edges_seen_,
        "edges_kept": sparsifier.n_edges,
        "stream_seconds": seconds,
        "certify_seconds": certificate.seconds,
        "epsilon_lower": certificate.epsilon_lower,
        "epsilon_upper": certificate.epsilon_upper,
    }
    study = Study(mails, source, stream.n_edges_seen_, stream.degrees_.mean().item())
    return study, certificate, record


def _some(mails):
    from dataclasses import replace

    few = slice(None, None, 8)
    return replace(mails, points=mails.points[few], labels=mails.labels[few], ids=mails.ids[few])


def _labeled(study, quick, seed, progress, tell):
    from graphsqueak.demo.study import label_mails

    n_draws = _QUICK_DRAWS if quick else _DRAWS
    tell(f"Labels from {', '.join(f'{count:,}' for count in n_draws)} mails, in several draws ...")
    return label_mails(study, n_draws=n_draws, seed=seed, progress=progress)


def _table(rows):
    """Header and cells: a line per method, its accuracy at each number of labels."""
    counts = sorted({row["labels"] for row in rows})
    header = ["method", "edges", "share", "MB", "seconds", *(f"{c:,} labels" for c in counts)]
    cells = []
    for name in dict.fromkeys(row["method"] for row in rows):
        own = sorted((r for r in rows if r["method"] == name), key=lambda row: row["labels"])
        most = max(own, key=lambda row: row["edges"])
        seconds = sum(row["seconds"] for row in own) / len(own)
        sizes = [f"{most['edges']:,}", f"{most['share']:.1%}", f"{most['bytes'] / 1e6:.1f}"]
        cells.append([name, *sizes, f"{seconds:.2f}", *(f"{row['accuracy']:.3f}" for row in own)])
    return header, cells


def _folder(out):
    from pathlib import Path

    from graphsqueak.errors import InputError

    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{out} is a file; give a folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write(folder, study, certificate, rows, table, record):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from graphsqueak.report.figure import accuracy_against
    from graphsqueak.report.page import html_page, picture
    from graphsqueak.report.table import html_table
    from graphsqueak.sources import write_columns
    from graphsqueak.system.atomic import atomic_file

    write_columns({key: [row[key] for row in rows] for key in rows[0]}, folder / "rows.csv")
    labels = study.mails.labels
    floor = max(labels.mean(), 1 - labels.mean())
    drawn = accuracy_against(rows, label="edges held", floor=floor)
    accuracy, accuracy_html = picture(drawn, alt="Accuracy of every method against its edges")
    spectrum, spectrum_html = picture(
        certificate.plot().figure, alt="Spectrum of the sparsifier against the graph"
    )
    pyplot.close("all")
    header, cells = table
    parts = [
        ("text", f"{record['nodes']:,} mails of the SpamAssassin public corpus; every mail joined "
            f"to a sixth of all others: {record['edges_read']:,} edges, read as a stream."),
        ("text", f"A sparsifier of {record['edges_kept']:,} edges, in one pass and "
            f"{record['stream_seconds']:.1f} s: {certificate}."),
        ("html", html_table(cells, header=header)),
        ("text", "Accuracy over the mails without a label, mean of several draws, bars "
            "of one standard error; the dotted line says ham to everything. Seconds are those of "
            "one fit; MB is 16 bytes for every edge held."),
        ("html", accuracy_html),
        ("text", _TASTE if record["quick"] else _LESSON),
        ("text", "How the sparsifier's quadratic form compares with the graph's, over all "
            "directions; nothing lies outside the dashed lines."),
        ("html", spectrum_html),
        ("text", "The same with your own files:"),
        ("code", "\n".join(_OWN_FILES)),
    ]  # fmt: skip
    page = html_page("Spam: when to sparsify a graph", parts)
    files = {"accuracy.png": accuracy, "spectrum.png": spectrum, "index.html": page.encode()}
    for name, data in files.items():
        with atomic_file(folder / name) as file:
            file.write(data)
