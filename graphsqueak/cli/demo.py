"""graphsqueak demo: a first look at what the toolkit does, on shipped and made data."""

import time

from graphsqueak.cli.info import readable
from graphsqueak.cli.options import Json, Quiet, Seed, print_json, print_line, print_table

__all__ = ["demo"]

_SHOWN = 5
_NODES, _EDGES, _EPSILON = 2_000, 2_000_000, 0.5


def demo(seed: Seed = 7, as_json: Json = False, quiet: Quiet = False):
    """Find the edges that matter in a shipped graph, then sparsify one with two million edges.

    Example: graphsqueak demo
    """
    from dataclasses import asdict

    from graphsqueak.datasets import shipped_file
    from graphsqueak.sources import read_edges, summarise

    source = read_edges(shipped_file("karate.tsv"))
    summary = summarise(source)
    rows, total = _most_resistive(source.to_edge_list())
    if not as_json and not quiet:
        _tell_resistances(summary, rows, total)
    record = _sparsified(seed)
    if as_json:
        print_json(asdict(summary) | {"most_resistive": rows, "sparsifier": record})
    elif not quiet:
        _tell_sparsifier(record)


def _most_resistive(graph):
    from graphsqueak.sparsify import effective_resistance

    leverage = graph.weight * effective_resistance(graph)
    order = (-leverage).argsort(kind="stable")[:_SHOWN]
    rows = [
        {
            "source": graph.ids[graph.tail[edge]].item(),
            "target": graph.ids[graph.head[edge]].item(),
            "weight": graph.weight[edge].item(),
            "leverage": leverage[edge].item(),
        }
        for edge in order
    ]
    return rows, leverage.sum()


def _sparsified(seed):
    """One pass over a made graph of four groups; how well its cuts survive."""
    import numpy as np

    from graphsqueak.sources import block_model
    from graphsqueak.sparsify import StreamSparsifier

    source = block_model(_NODES, _EDGES, n_blocks=4, random_state=seed)
    stream = StreamSparsifier(epsilon=_EPSILON, random_state=seed)
    group = np.arange(_NODES) % 4
    cut = 0.0
    began = time.perf_counter()
    for batch in source:
        stream.partial_fit(batch)
        cut += batch.weight[group[batch.tail] != group[batch.head]].sum()
    result = stream.sparsifier()
    seconds = time.perf_counter() - began
    kept_cut = result.weight[group[result.tail] != group[result.head]].sum()
    degree_error = np.abs(result.degrees() / stream.degrees_ - 1).max()
    return {
        "nodes": _NODES,
        "edges_read": stream.n_edges_seen_,
        "edges_kept": result.n_edges,
        "seconds": seconds,
        "epsilon_predicted": stream.epsilon_predicted_,
        "cut_error": abs(kept_cut / cut - 1).item(),
        "degree_error": degree_error.item(),
    }


def _tell_resistances(summary, rows, total):
    print_line("Zachary's karate club, 34 members and who met whom:\n")
    print_table(readable(summary))
    print_line(
        f"\nThe {_SHOWN} most important edges. Leverage = weight x effective resistance: the "
        "chance that\na random spanning tree needs the edge; 1 is a bridge. "
        f"All together: {total:.4f} = nodes - components.\n"
    )
    for row in rows:
        print_line(
            f"{row['source']:>4} - {row['target']:<4} weight {row['weight']:g}   "
            f"leverage {row['leverage']:.3f}"
        )


def _tell_sparsifier(record):
    print_line(f"\n{record['nodes']:,} people in four groups, sparsified in one pass:\n")
    print_table(
        {
            "edges read": record["edges_read"],
            "edges kept": record["edges_kept"],
            "seconds": record["seconds"],
            "predicted accuracy": record["epsilon_predicted"],
            "error of the cut between groups": record["cut_error"],
            "largest error of a degree": record["degree_error"],
        }
    )
    print_line("\nThe same for your own edge list:\n")
    print_line("  graphsqueak info edges.tsv")
    print_line("  graphsqueak resistance edges.tsv -o resistance.tsv")
    print_line("  graphsqueak sparsify edges.tsv -o sparse.tsv --keep 0.05")
