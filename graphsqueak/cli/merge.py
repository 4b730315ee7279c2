"""graphsqueak merge: checkpoints or sparsifiers of parts of one graph, made one."""

import time
from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.cli.reading import tell_understood

__all__ = ["merge"]


def merge(
    parts: Annotated[
        list[str],
        typer.Argument(metavar="PART...", help="Checkpoints, or edge files (sparsifiers)."),
    ],
    out: Annotated[str, typer.Option("-o", "--out", help="Where to write the sparsifier.")],
    n_edges: Annotated[int | None, typer.Option("--edges", help="Edges to keep, at most.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Accuracy from which the number of edges is predicted.")
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION", parser=options.fraction, help="Edges to keep: 0.05 or 5%."
        ),
    ] = None,
    force: options.Force = False,
    no_header_out: options.NoHeaderOut = False,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Merge what several runs have made of edge-disjoint parts of one graph.

    Checkpoints are merged with the budget they were made with, and know the exact degrees.
    Sparsifiers are added up; give --edges, --epsilon or --keep to thin the sum.

    Example: graphsqueak merge monday.ckpt tuesday.ckpt -o week.tsv
    """
    from graphsqueak.sparsifiers.merge_files import merge_edge_files

    began = time.perf_counter()
    options.check_table(out)
    options.check_outputs({"--out": out}, parts, force=force, quiet=quiet, as_json=as_json)
    made = merge_edge_files(parts, n_edges=n_edges, epsilon=epsilon, keep=keep, random_state=seed)
    options.write_result(made.sparsifier, out, header=not no_header_out)
    record = {
        "parts": len(parts),
        "nodes": made.sparsifier.n_nodes,
        "edges_read": made.n_edges_read,
        "edges_kept": made.sparsifier.n_edges,
        "ridge": made.ridge,
        "components": int(made.sparsifier.components().max(initial=-1)) + 1,
        "seconds": time.perf_counter() - began,
        "seed": seed,
    }
    if made.source is not None:
        record["input"] = tell_understood(made.source, quiet=quiet)
    if as_json:
        options.print_json(record)
    elif not quiet:
        options.print_summary(
            f"{record['edges_kept']:,} edges on {record['nodes']:,} nodes from {len(parts)} parts "
            f"of {record['edges_read']:,} edges, in {out}"
            + (f"; accurate up to a ridge of {made.ridge:g}" if made.ridge else ""),
            out,
        )
