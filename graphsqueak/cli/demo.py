"""graphsqueak demo: sparsify, certify and label a graph that is shipped with the package."""

import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from graphsqueak.cli.groups import FixedSeed, Force, Printing, with_option_groups
from graphsqueak.cli.help_pages import OUTPUT
from graphsqueak.cli.output import check_matplotlib, check_outputs, print_json, print_lines


@with_option_groups
def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Use few mails; takes seconds.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Compare seven methods at 20, 100 and 1,000 labels as well; takes minutes.",
        ),
    ] = False,
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="Folder for the graphs and the page.",
            rich_help_panel=OUTPUT,
        ),
    ] = "graphsqueak-demo",
    force: Force = False,
    *,
    printing: Printing,
    random_state: FixedSeed = 7,
):
    """Sparsify, certify and label a graph of 4 million edges on disk, in a minute.

    Each of 5,876 mails, which are shipped with the package, is joined to a sixth of all others. The
    file of edges is streamed, never loaded: 5 % of the edges are kept and certified, and after
    three passes the labels are those of the whole graph. The folder gets that file (dense.parquet),
    the kept edges (sparsifier.parquet), the mails (mails.npz), labels.csv and a page, index.html;
    with --full also rows.csv. The commands at the end use these files.

    Examples:
      graphsqueak demo --quick
      graphsqueak demo
      graphsqueak demo --full -o comparison
    """
    from graphsqueak.demo import comparison, page, workflow
    from graphsqueak.report.table import text_table
    from graphsqueak.system.progress import reporter

    check_matplotlib("demo")
    folder = page.open_folder(out)
    existing = next((path for name in page.FILES if (path := folder / name).exists()), None)
    check_outputs({"--out": existing}, [], printing=printing, force=force)
    began = time.perf_counter()

    def show(*texts):
        if printing.text:
            for text in texts:
                print_lines(f"{text}\n")
            sys.stdout.flush()

    show("This takes a minute, and half a minute more to compile once; demo --quick takes seconds.")
    mails = workflow.load_mails(quick=quick)
    dense = workflow.DenseGraph.write(mails, folder / "dense.parquet", progress=printing.progress)
    page.write_inputs(dense, folder)
    show(page.describe_dense_graph(dense))
    sparsified = workflow.sparsify_and_certify(
        dense, folder / "sparsifier.parquet", seed=random_state, progress=printing.progress
    )
    show(*page.describe_sparsifier(sparsified))
    labeled = workflow.label_in_several_ways(
        dense, sparsified.sparsifier, seed=random_state, progress=printing.progress
    )
    show(page.describe_labels(labeled))
    rows = []
    if full:
        n_draws = comparison.QUICK_DRAWS if quick else comparison.DRAWS
        rows = comparison.compare_methods(
            mails, n_draws=n_draws, seed=random_state, progress=printing.progress
        )
        header, cells = page.accuracy_table(rows)
        show(text_table(cells, header=header))
    show(page.describe_chosen_graph(dense, labeled))
    with reporter(printing.progress, "drawing the page"):
        layout = workflow.lay_out(labeled, sparsified.sparsifier)
        page.write_page(folder, dense, sparsified, labeled, layout, rows)
    seconds = time.perf_counter() - began
    show(
        f"All of the above with figures, as a page: {folder}/index.html "
        f"({seconds:.0f} s; the whole graph was loaded for the comparison only).",
        "The same steps as commands, on the files in the folder:",
        "\n".join(f"  {command}" for command in page.commands(folder)),
        page.OWN_MAILS,
    )
    if printing.as_json:
        record = _record(dense, sparsified, labeled)
        print_json(
            {
                "quick": quick,
                "nodes": len(mails.labels),
                **record,
                "seconds": seconds,
                "rows": [asdict(row) for row in rows],
                "out": str(folder),
            }
        )


def _record(dense, sparsified, labeled):
    from graphsqueak.system.memory import peak_rss

    certificate = sparsified.certificate
    return {
        "edges_read": dense.n_edges,
        "edges_kept": sparsified.sparsifier.n_edges,
        "stream_seconds": sparsified.seconds,
        "certify_seconds": certificate.seconds,
        "epsilon_lower": certificate.epsilon_lower,
        "epsilon_upper": certificate.epsilon_upper,
        "accuracy_exact": labeled.exact.accuracy,
        "accuracy_three_passes": labeled.three_passes.accuracy,
        "accuracy_random_edges": labeled.random_edges.accuracy,
        "accuracy_few_neighbors": labeled.few_neighbors.accuracy,
        "labels_predicted": labeled.n_predicted,
        "labels_different": labeled.three_passes.n_different,
        "labels_different_random_edges": labeled.random_edges.n_different,
        "edges_few_neighbors": labeled.few_neighbors.n_edges,
        "peak_rss_bytes": peak_rss(),
    }
