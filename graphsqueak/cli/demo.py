"""graphsqueak demo: a first look at what the toolkit does, on shipped data."""

from graphsqueak.cli.info import readable
from graphsqueak.cli.options import Json, Quiet, print_json, print_line, print_table

__all__ = ["demo"]

_SHOWN = 5


def demo(as_json: Json = False, quiet: Quiet = False):
    """Read a shipped graph, describe it, and find the edges that matter most to it.

    Example: graphsqueak demo
    """
    from dataclasses import asdict

    from graphsqueak.datasets import shipped_file
    from graphsqueak.sources import read_edges, summarise
    from graphsqueak.sparsify import effective_resistance

    source = read_edges(shipped_file("karate.tsv"))
    summary = summarise(source)
    graph = source.to_edge_list()
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
    if as_json:
        print_json(asdict(summary) | {"most_resistive": rows})
    elif not quiet:
        _tell(summary, rows, leverage.sum())


def _tell(summary, rows, total):
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
    print_line("\nThe same for your own edge list:\n")
    print_line("  graphsqueak info edges.tsv")
    print_line("  graphsqueak resistance edges.tsv -o resistance.tsv")
