"""graphsqueak resistance: the effective resistance of every edge, or of given pairs."""

from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.cli.reading import Edges, Reading, paths_read, reads_edges, tell_understood

__all__ = ["resistance"]


@reads_edges
def resistance(
    edges: Edges,
    out: Annotated[
        str, typer.Option("-o", "--out", help="Table to write: .tsv, .csv, .parquet or .arrow.")
    ],
    pairs: Annotated[
        str | None,
        typer.Option(metavar="PAIRS", help="File of two columns of node ids, instead of edges."),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact or sketch.")] = "auto",
    rtol: Annotated[float, typer.Option(help="Mean relative error allowed to a sketch.")] = 0.05,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            parser=options.fraction,
            help="Do not hold EDGES but 0.05 or 5% of them, and read EDGES several times.",
        ),
    ] = None,
    n_edges: Annotated[
        int | None, typer.Option("--edges", help="The same, of at most so many edges.")
    ] = None,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", help="With --keep or --edges: what each is proved to lie between, instead."
        ),
    ] = False,
    force: options.Force = False,
    *,
    reading: Reading,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Effective resistance of every edge, or of pairs of nodes: how far apart they are.

    OUT has the columns source, target, weight (edges only) and resistance. Between components it
    is infinite. A pair of a node with itself is left out. With --keep or --edges, EDGES are not
    held in memory but read once for a sparsifier and some times more: pairs are solved for to
    --rtol, edges are sketched. --bounds writes lower and upper instead of resistance, from a
    certificate of the sparsifier.

    Example: graphsqueak resistance edges.tsv -o resistance.tsv
    """
    import time

    import numpy as np

    from graphsqueak.errors import InputError
    from graphsqueak.outofcore import effective_resistance
    from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
    from graphsqueak.sources import write_columns
    from graphsqueak.sparsifiers.budget import Budget

    began = time.perf_counter()
    options.check_table(out)
    is_read = keep is not None or n_edges is not None
    if keep is not None and n_edges is not None:
        raise InputError("give --keep 0.1 or --edges 100000, not both")
    if bounds and not is_read:
        raise InputError("--bounds come from a sparsifier; give --keep 0.1 or --edges as well")
    source = reading.open(edges, seed)
    options.check_outputs(
        {"--out": out},
        [*paths_read(edges, source), *([] if pairs is None else [pairs])],
        force=force,
        quiet=quiet,
        as_json=as_json,
    )
    progress = options.shows_progress(quiet=quiet, as_json=as_json)
    if is_read:
        whole = rereadable(source)
        graph = find_sparsifier(whole, Budget(n_edges, None, keep), None, seed, progress)
        more = {"sparsifier": graph, "bounds": bounds, "progress": progress}
    else:
        whole = graph = source if reading.from_pairs else source.to_edge_list()
        more = {}
    ends = None if pairs is None else _read_pairs(pairs, graph)
    result = effective_resistance(
        whole,
        None if ends is None else np.column_stack(ends),
        method=method,
        rtol=rtol,
        random_state=seed,
        **more,
    )
    names = ("lower", "upper") if bounds else ("resistance",)
    table = dict(zip(names, np.atleast_2d(result.T), strict=True))
    if ends is None:
        write_columns(_rows(whole, table), out)
    else:
        write_columns({"source": graph.ids[ends[0]], "target": graph.ids[ends[1]]} | table, out)
    record = {
        "nodes": graph.n_nodes,
        "edges": source.n_edges_read,
        "resistances": len(result),
        "seconds": time.perf_counter() - began,
        "input": tell_understood(source, quiet=quiet),
    }
    if as_json:
        options.print_json(record)
    elif not quiet:
        options.print_summary(
            f"{len(result):,} resistances in {record['seconds']:.2f} s, in {out}", out
        )


def _rows(graph, table):
    """Ends, weights and figures of all edges, a batch at a time."""
    begin = 0
    for batch in graph:
        rows = slice(begin, begin + batch.n_edges)
        ids = batch.ids
        edges = {"source": ids[batch.tail], "target": ids[batch.head], "weight": batch.weight}
        yield edges | {name: column[rows] for name, column in table.items()}
        begin = rows.stop


def _read_pairs(path, graph):
    """Node numbers of the pairs in a file, in its order."""
    import numpy as np

    from graphsqueak.errors import InputError
    from graphsqueak.nodes.numbering import make_node_finder
    from graphsqueak.sources import read_edges

    kind = "integer" if graph.ids.dtype.kind in "iu" else "text"
    pairs = read_edges(path, ids=kind, weighted=False).to_edge_list()
    node = make_node_finder(graph.node_ids, graph.n_nodes)(pairs.ids)
    if node.min(initial=0) < 0:
        unknown = pairs.ids.tolist()[int(np.argmin(node))]
        raise InputError(f"{path}: node {unknown!r} is not in the graph; check its spelling")
    return node[pairs.tail], node[pairs.head]
