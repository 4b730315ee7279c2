"""graphsqueak resistance: the effective resistance of every edge, or of given pairs of nodes."""

from typing import Annotated, Literal

import typer

from graphsqueak.cli.groups import Force, Keep, NEdges, Printing, Seed, TableOut, with_option_groups
from graphsqueak.cli.output import check_format, check_outputs, print_json, print_summary
from graphsqueak.cli.reading import Edges, Reading, paths_read, report_schema
from graphsqueak.errors import InputError


@with_option_groups
def resistance(
    edges: Edges,
    out: TableOut,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--node-pairs",
            metavar="PATH",
            help="File of two columns of node ids, instead of all edges.",
        ),
    ] = None,
    method: Annotated[
        Literal["auto", "exact", "sketch"], typer.Option(help="How resistances are computed.")
    ] = "auto",
    rtol: Annotated[
        float, typer.Option(metavar="FRACTION", help="Mean relative error of sketches.")
    ] = 0.05,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds",
            help="With --keep or --n-edges: write proved lower and upper bounds instead.",
        ),
    ] = False,
    keep: Keep = None,
    n_edges: NEdges = None,
    force: Force = False,
    *,
    reading: Reading,
    printing: Printing,
    random_state: Seed = None,
):
    """Compute the effective resistance of every edge, or of pairs of nodes.

    The output has the columns source, target, weight (edges only) and resistance, which is infinite
    between components. Pairs of a node with itself are omitted.

    With --keep or --n-edges, EDGES are streamed, never loaded: one pass makes a sparsifier of this
    size, and further passes solve for pairs to --rtol, or sketch all edges. --bounds writes lower
    and upper, from a certificate of the sparsifier.

    Examples:
      graphsqueak resistance edges.tsv -o resistance.tsv
      graphsqueak resistance edges.tsv --method exact -o resistance.parquet
      graphsqueak resistance edges.tsv --keep 0.5 --bounds -o bounds.tsv
    """
    import time

    import numpy as np

    from graphsqueak.outofcore import effective_resistance
    from graphsqueak.sources import write_columns

    began = time.perf_counter()
    check_format(out)
    is_streamed = keep is not None or n_edges is not None
    if keep is not None and n_edges is not None:
        raise InputError("give --keep 0.1 or --n-edges 100000, not both")
    if bounds and not is_streamed:
        raise InputError("--bounds needs a sparsifier; give --keep 0.1 or --n-edges 100000 as well")
    source = reading.open(edges, random_state)
    pair_files = [] if pairs is None else [pairs]
    check_outputs(
        {"--out": out}, [*paths_read(edges, source), *pair_files], printing=printing, force=force
    )
    graph, sparsifier = _open_graph(source, reading, keep, n_edges, random_state, printing.progress)
    ends = None
    if pairs is not None:
        ends = _read_node_pairs(pairs, graph if sparsifier is None else sparsifier)
    result = effective_resistance(
        graph,
        None if ends is None else np.column_stack(ends),
        method=method,
        rtol=rtol,
        sparsifier=sparsifier,
        bounds=bounds,
        random_state=random_state,
        progress=is_streamed and printing.progress,
    )
    names = ("lower", "upper") if bounds else ("resistance",)
    columns = dict(zip(names, np.atleast_2d(result.T), strict=True))
    nodes = graph if sparsifier is None else sparsifier
    if ends is None:
        write_columns(_edge_table(graph, columns), out)
    else:
        tail, head = ends
        write_columns({"source": nodes.ids[tail], "target": nodes.ids[head]} | columns, out)
    record = {
        "nodes": nodes.n_nodes,
        "edges": source.n_edges_read,
        "resistances": len(result),
        "seconds": time.perf_counter() - began,
        "seed": random_state,
        "input": report_schema(source, quiet=printing.quiet),
    }
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        print_summary(f"{len(result):,} resistances in {record['seconds']:.2f} s, in {out}", out)


def _open_graph(source, reading, keep, n_edges, random_state, progress):
    """Return the graph, and its sparsifier if the graph is streamed."""
    from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
    from graphsqueak.sparsifiers.budget import Budget

    if keep is None and n_edges is None:
        return source if reading.project else source.to_edge_list(), None
    graph = rereadable(source)
    budget = Budget(n_edges=n_edges, epsilon=None, keep=keep)
    return graph, find_sparsifier(graph, budget, None, random_state, progress)


def _edge_table(graph, columns):
    """Yield ends, weights and figures of all edges, one batch at a time."""
    begin = 0
    for batch in graph.batches():
        rows = slice(begin, begin + batch.n_edges)
        edges = {
            "source": batch.ids[batch.tail],
            "target": batch.ids[batch.head],
            "weight": batch.weight,
        }
        yield edges | {name: column[rows] for name, column in columns.items()}
        begin = rows.stop


def _read_node_pairs(path, graph):
    """Return the node numbers of the pairs in a file, in the order of the file."""
    import numpy as np

    from graphsqueak.nodes.numbering import make_node_finder
    from graphsqueak.sources import read_edges

    kind = "integer" if graph.ids.dtype.kind in "iu" else "text"
    pairs = read_edges(path, ids=kind, weighted=False).to_edge_list()
    node = make_node_finder(graph.node_ids, graph.n_nodes)(pairs.ids)
    if node.min(initial=0) < 0:
        unknown = pairs.ids.tolist()[int(np.argmin(node))]
        raise InputError(f"{path}: node {unknown!r} is not in the graph; check its spelling")
    return node[pairs.tail], node[pairs.head]
