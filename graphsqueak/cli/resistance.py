"""graphsqueak resistance: the effective resistance of every edge, or of given pairs."""

from typing import Annotated

import typer

from graphsqueak.cli import options

__all__ = ["resistance"]


@options.reads_edges
def resistance(
    edges: options.Edges,
    out: Annotated[
        str, typer.Option("-o", "--out", help="Table to write: .tsv, .csv, .parquet or .arrow.")
    ],
    pairs: Annotated[
        str | None,
        typer.Option(metavar="PAIRS", help="File of two columns of node ids, instead of edges."),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact or sketch.")] = "auto",
    rtol: Annotated[float, typer.Option(help="Mean relative error allowed to a sketch.")] = 0.05,
    force: options.Force = False,
    *,
    reading: options.Reading,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Effective resistance of every edge, or of pairs of nodes: how far apart they are.

    OUT has the columns source, target, weight (edges only) and resistance. Between components it
    is infinite. A pair of a node with itself is left out.

    Example: graphsqueak resistance edges.tsv -o resistance.tsv
    """
    import time

    import numpy as np

    from graphsqueak.sources import write_columns
    from graphsqueak.sparsifiers import effective_resistance

    began = time.perf_counter()
    options.check_table(out)
    source = reading.open(edges)
    options.check_outputs(
        {"--out": out},
        [*options.paths_read(edges, source), *([] if pairs is None else [pairs])],
        force=force,
        quiet=quiet,
        as_json=as_json,
    )
    graph = source.to_edge_list()
    ends = (graph.tail, graph.head) if pairs is None else _read_pairs(pairs, graph)
    result = effective_resistance(
        graph,
        None if pairs is None else np.column_stack(ends),
        method=method,
        rtol=rtol,
        random_state=seed,
    )
    table = {"source": graph.ids[ends[0]], "target": graph.ids[ends[1]]}
    weight = {"weight": graph.weight} if pairs is None else {}
    write_columns(table | weight | {"resistance": result}, out)
    record = {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "resistances": len(result),
        "seconds": time.perf_counter() - began,
        "input": options.tell_understood(source, quiet=quiet),
    }
    if as_json:
        options.print_json(record)
    elif not quiet:
        options.print_summary(
            f"{len(result):,} resistances in {record['seconds']:.2f} s, in {out}", out
        )


def _read_pairs(path, graph):
    """Node numbers of the pairs in a file, in its order."""
    import numpy as np

    from graphsqueak.errors import InputError
    from graphsqueak.nodes.numbering import node_finder
    from graphsqueak.sources import read_edges

    kind = "integer" if graph.ids.dtype.kind in "iu" else "text"
    pairs = read_edges(path, ids=kind, weighted=False).to_edge_list()
    node = node_finder(graph.own_ids, graph.n_nodes)(pairs.ids)
    if node.min(initial=0) < 0:
        unknown = pairs.ids.tolist()[int(np.argmin(node))]
        raise InputError(f"{path}: node {unknown!r} is not in the graph; check its spelling")
    return node[pairs.tail], node[pairs.head]
