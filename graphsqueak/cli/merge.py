"""graphsqueak merge: checkpoints or sparsifiers of the parts of a graph, merged into one."""

import time
from typing import Annotated

import typer

from graphsqueak.cli.groups import Force, NoHeaderOut, Printing, Seed, Size, with_option_groups
from graphsqueak.cli.help_pages import OUTPUT
from graphsqueak.cli.output import (
    check_format,
    check_outputs,
    print_json,
    print_summary,
    write_result,
)
from graphsqueak.cli.reading import report_schema


@with_option_groups
def merge(
    parts: Annotated[
        list[str],
        typer.Argument(metavar="PART...", help="Checkpoints, or sparsifiers (edge files)."),
    ],
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", metavar="PATH", help="Edge file to write.", rich_help_panel=OUTPUT
        ),
    ],
    *,
    size: Size,
    printing: Printing,
    force: Force = False,
    no_header_out: NoHeaderOut = False,
    random_state: Seed = None,
):
    """Merge checkpoints or sparsifiers of edge-disjoint parts of one graph.

    Checkpoints are merged within the budget of their runs, with the exact degrees. Sparsifiers are
    added up; --keep, --n-edges or --epsilon samples the sum.

    Examples:
      graphsqueak merge monday.ckpt tuesday.ckpt -o week.tsv
      graphsqueak merge north.tsv south.tsv -o all.tsv
      graphsqueak merge north.tsv south.tsv -o all.tsv --keep 0.5
    """
    from graphsqueak.sparsifiers.merge_files import merge_edge_files

    began = time.perf_counter()
    check_format(out)
    check_outputs({"--out": out}, parts, printing=printing, force=force)
    merged = merge_edge_files(
        parts,
        n_edges=size.n_edges,
        epsilon=size.epsilon,
        keep=size.keep,
        random_state=random_state,
    )
    sparsifier = merged.sparsifier
    write_result(sparsifier, out, header=not no_header_out)
    record = {
        "parts": len(parts),
        "nodes": sparsifier.n_nodes,
        "edges_read": merged.n_edges_read,
        "edges_kept": sparsifier.n_edges,
        "ridge": merged.ridge,
        "components": int(sparsifier.components().max(initial=-1)) + 1,
        "seconds": time.perf_counter() - began,
        "seed": random_state,
    }
    # Checkpoints have no schema.
    if merged.source is not None:
        record["input"] = report_schema(merged.source, quiet=printing.quiet)
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        ridge = f"; accurate up to a ridge of {merged.ridge:g}" if merged.ridge else ""
        print_summary(
            f"{record['edges_kept']:,} edges on {record['nodes']:,} nodes from {len(parts)} parts "
            f"of {record['edges_read']:,} edges, in {out}{ridge}",
            out,
        )
