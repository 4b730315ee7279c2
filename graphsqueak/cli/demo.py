"""graphsqueak demo: what to do with a dense graph on disk, and when to have no such graph."""

import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from graphsqueak.cli import options

__all__ = ["demo"]


def demo(
    out: Annotated[
        str, typer.Option("-o", "--out", help="Folder for the graph, the pictures and the page.")
    ] = "graphsqueak-demo",
    quick: Annotated[bool, typer.Option("--quick", help="A few mails, in seconds.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Measure seven methods from 20, 100 and 1,000 labels, too: minutes."
        ),
    ] = False,
    force: options.Force = False,
    seed: options.Seed = 7,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Sparsify, certify and label a graph of 4 million edges on disk: one minute.

    Each of 5,876 mails, which are shipped with the package, is joined to a sixth of all others. The
    file of edges is read, and never held: a twentieth is kept and certified, and after three reads
    the labels are those of the whole graph. OUT gets that file (dense.parquet), the mails
    (mails.npz), labels.csv, clusters.png, spectrum.png and the page, index.html; with --full also
    rows.csv and accuracy.png. The commands at the end work on these files.

    Example: graphsqueak demo --quick
    """
    from graphsqueak.demo import page, story, study
    from graphsqueak.report.table import text_table
    from graphsqueak.system.memory import peak_rss
    from graphsqueak.system.progress import reporter

    options.check_drawing("demo")
    folder = page.open_folder(out)
    there = next((path for name in page.FILES if (path := folder / name).exists()), None)
    options.check_outputs({"--out": there}, [], force=force, quiet=quiet)
    began = time.perf_counter()
    progress = options.shows_progress(quiet=quiet, as_json=as_json)

    def tell(*texts):
        if not quiet and not as_json:
            for text in texts:
                options.print_lines(f"{text}\n")
            sys.stdout.flush()

    tell("One minute, and once half a minute to compile; demo --quick takes seconds.")
    mails = study.load_mails(quick=quick)
    dense = story.DenseFile.write(mails, folder / "dense.parquet", progress=progress)
    page.write_inputs(dense, folder)
    tell(page.tell_problem(dense))
    small = story.make_small(dense, seed=seed, progress=progress)
    tell(*page.tell_small(small))
    labeled = story.label_both(dense, seed=seed, progress=progress)
    tell(page.tell_labels(labeled))
    rows = []
    if full:
        graph = study.sparsify_mails(mails, seed=seed, progress=progress)
        n_draws = study.QUICK_DRAWS if quick else study.DRAWS
        rows = study.label_mails(graph, n_draws=n_draws, seed=seed, progress=progress)
        header, cells = page.accuracy_table(rows)
        tell(text_table(cells, header=header))
    tell(page.tell_choice(dense, labeled))
    with reporter(progress, "drawing the page"):
        clusters = story.draw_clusters(labeled, small.sparsifier)
        page.write_files(folder, dense, small, labeled, clusters, rows)
    seconds = time.perf_counter() - began
    tell(
        f"The clusters before and after, and all of this as a page: {folder}/index.html "
        f"({seconds:.0f} s; the whole graph was held only to compare).",
        "By hand, with the files that are there:",
        "\n".join(f"  {command}" for command in page.commands(folder)),
        page.OWN_MAILS,
    )
    if as_json:
        certificate = small.certificate
        options.print_json(
            {
                "quick": quick,
                "nodes": len(mails.labels),
                "edges_read": dense.n_edges,
                "edges_kept": small.sparsifier.n_edges,
                "stream_seconds": small.seconds,
                "certify_seconds": certificate.seconds,
                "epsilon_lower": certificate.epsilon_lower,
                "epsilon_upper": certificate.epsilon_upper,
                "accuracy_exact": labeled.exact,
                "accuracy_three_reads": labeled.reread,
                "accuracy_few_neighbors": labeled.few,
                "labels_asked": labeled.n_asked,
                "labels_different": labeled.n_different,
                "edges_few_neighbors": labeled.n_few,
                "seconds": seconds,
                "peak_rss_bytes": peak_rss(),
                "rows": [asdict(row) for row in rows],
                "out": str(folder),
            }
        )
