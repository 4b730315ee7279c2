"""graphsqueak demo: from mails to a labeled graph, and when to sparsify one."""

import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from graphsqueak.cli import options

__all__ = ["demo"]

_HOW_LONG = {
    False: "A minute and a half of processor time, more of the clock where others work, and once "
    "half a minute to compile; demo --quick takes seconds.",
    True: "Some seconds of work, and once half a minute to compile.",
}


def demo(
    out: Annotated[
        str, typer.Option("-o", "--out", help="Folder for the table, the figure and the page.")
    ] = "graphsqueak-demo",
    quick: Annotated[bool, typer.Option("--quick", help="A few mails, in seconds.")] = False,
    force: options.Force = False,
    seed: options.Seed = 7,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Turn 5,876 mails into a graph of 4 million edges, sparsify, certify and label it.

    Everything is shipped with the package and measured here and now: accuracy, edges, memory and
    seconds of seven methods from 20, 100 and 1,000 labels. OUT gets rows.csv, accuracy.png,
    spectrum.png and index.html, and the mails as points (mails.npz) with labels.csv.

    Example: graphsqueak demo --quick
    """
    from graphsqueak.demo import page, study
    from graphsqueak.report.table import text_table
    from graphsqueak.sparsifiers import certify
    from graphsqueak.sparsifiers.result import measured_error
    from graphsqueak.system.memory import peak_rss
    from graphsqueak.system.progress import reporter

    options.check_drawing("demo")
    folder = page.open_folder(out)
    there = next((path for name in page.FILES if (path := folder / name).exists()), None)
    options.check_outputs({"--out": there}, [], force=force, quiet=quiet)
    began = time.perf_counter()
    progress = options.shows_progress(quiet=quiet, as_json=as_json)

    def tell(text=""):
        if not quiet and not as_json:
            options.print_line(text)
            sys.stdout.flush()

    tell(_HOW_LONG[quick])
    mails = study.load_mails(quick=quick)
    k = study.neighbor_count(mails)
    tell(f"{len(mails.labels):,} mails, each joined to its {k:,} nearest (k = n / 6) ...")
    graph = study.sparsify_mails(mails, seed=seed, progress=progress)
    n_kept = graph.sparsifier.n_edges
    tell(f"{graph.n_edges:,} edges went by, {n_kept:,} were kept, in {graph.seconds:.1f} s.")
    certificate = certify(graph.stream, graph.sparsifier, random_state=seed, progress=progress)
    tell(f"Passes to measure it: {certificate.passes}; {measured_error(certificate)}.")
    n_draws = study.QUICK_DRAWS if quick else study.DRAWS
    tell(f"Labels from {', '.join(f'{count:,}' for count in n_draws)} mails, in several draws ...")
    rows = study.label_mails(graph, n_draws=n_draws, seed=seed, progress=progress)
    header, cells = page.accuracy_table(rows)
    tell("\n" + text_table(cells, header=header) + "\n")
    tell(page.lesson(quick=quick))
    seconds = time.perf_counter() - began
    with reporter(progress, "drawing the page"):
        page.write_files(folder, graph, certificate, rows, quick=quick)
    tell(f"\n{seconds:.0f} s, at most {peak_rss() / 2**20:,.0f} MiB.")
    tell(f"Table, figures and page: {folder}/index.html\n")
    tell("The same by hand, with the files that are there:\n")
    for command in page.commands(folder, mails):
        tell(f"  {command}")
    tell(f"\n{page.OWN_MAILS}")
    if as_json:
        options.print_json(
            {
                "quick": quick,
                "nodes": graph.sparsifier.n_nodes,
                "edges_read": graph.n_edges,
                "edges_kept": n_kept,
                "stream_seconds": graph.seconds,
                "certify_seconds": certificate.seconds,
                "epsilon_lower": certificate.epsilon_lower,
                "epsilon_upper": certificate.epsilon_upper,
                "seconds": seconds,
                "peak_rss_bytes": peak_rss(),
                "rows": [asdict(row) for row in rows],
                "out": str(folder),
            }
        )
