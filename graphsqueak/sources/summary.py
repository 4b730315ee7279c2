"""Size, weights, degrees and components of a stream of edges, in one pass.

Memory is O(n_nodes): a degree and the parent in a union-find forest per node.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from graphsqueak.graph.forest import add_degrees, make_sets, union_edges
from graphsqueak.report.table import html_table
from graphsqueak.sources.edge_source import id_kind_of
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import explain_keywords


@dataclass(frozen=True, repr=False)
class Summary:
    """Figures of a graph, returned by `info`; parallel edges are counted separately."""

    nodes: int
    edges: int
    self_loops: int
    zero_weights: int
    bad_lines: int
    components: int
    isolated_nodes: int
    degree_min: int
    degree_median: float
    degree_max: int
    weighted: bool
    weight_min: float
    weight_max: float
    weight_total: float
    id_kind: str
    seconds: float
    peak_rss_bytes: int

    def rows(self) -> list[tuple[str, str]]:
        """Return the figures under readable names, as `graphsqueak info` prints them."""
        weights = "all 1"
        if self.weighted:
            weights = f"{self.weight_min:.4g} to {self.weight_max:.4g}"
        dropped = {
            "self-loops dropped": self.self_loops,
            "zero weights dropped": self.zero_weights,
            "bad lines skipped": self.bad_lines,
        }
        return [
            ("nodes", f"{self.nodes:,}"),
            ("edges", f"{self.edges:,}"),
            *((name, f"{count:,}") for name, count in dropped.items() if count),
            ("components", f"{self.components:,}"),
            ("isolated nodes", f"{self.isolated_nodes:,}"),
            (
                "edges per node",
                f"{self.degree_min:,} to {self.degree_max:,}, median {self.degree_median:,g}",
            ),
            ("weights", weights),
            ("total weight", f"{self.weight_total:,.10g}"),
            ("node ids", self.id_kind),
            ("seconds", f"{self.seconds:.4g}"),
        ]

    def __repr__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"  {name:<{width}}  {value}" for name, value in rows]
        return "\n".join(["Summary", *lines])

    def _repr_html_(self):
        return html_table(self.rows(), words=True)


@explain_keywords(weighted="info(read_edges(path, weighted={}))")
def info(graph: GraphLike, *, progress: Progress = False) -> Summary:
    """Read a graph once and describe it.

    Use it to check how a file was read before a long computation. The command `graphsqueak info`
    prints the same figures, and a forecast of sparsifiers (`sparsifiers.Forecast`).

    Parameters
    ----------
    graph : GraphLike
    progress : bool or callable
        True draws a bar; a function is called as progress(edges, fraction, note).

    Returns
    -------
    Summary

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> star = EdgeList(tail=[0, 0, 0], head=[1, 2, 3], n_nodes=5)
    >>> summary = info(star)
    >>> summary.components, summary.degree_max, summary.isolated_nodes
    (2, 3, 1)
    >>> summary
    Summary
      nodes           5
      edges           3
      components      2
      isolated nodes  1
      edges per node  0 to 3, median 1
      weights         all 1
      total weight    3
      node ids        integer
      seconds         ...
    """
    source = as_stream(graph)
    started = time.perf_counter()
    degree = np.zeros(0)
    parent = make_sets(0)
    n_nodes = 0
    n_edges = 0
    n_merges = 0
    weight_min = np.inf
    weight_max = 0.0
    weight_total = 0.0
    with reporter(progress, "reading") as report:
        for batch in source.batches():
            n_nodes = batch.n_nodes
            # Doubled, so that copying takes constant time per node.
            if n_nodes > degree.size:
                capacity = max(n_nodes, 2 * degree.size)
                degree = np.concatenate([degree, np.zeros(capacity - degree.size)])
                parent = np.concatenate([parent, make_sets(capacity)[parent.size :]])
            # Unweighted degrees.
            add_degrees(degree, batch.tail, batch.head, np.ones(batch.n_edges))
            n_merges += int(np.count_nonzero(union_edges(parent, batch.tail, batch.head)))
            n_edges += batch.n_edges
            weight_min = min(weight_min, float(batch.weight.min(initial=np.inf)))
            weight_max = max(weight_max, float(batch.weight.max(initial=0.0)))
            weight_total += float(batch.weight.sum())
            report(n_edges, source.fraction_read, f"{n_nodes} nodes")
    # Every edge that merges two components reduces their number by one.
    degree = degree[:n_nodes]
    return Summary(
        nodes=n_nodes,
        edges=n_edges,
        self_loops=source.n_self_loops,
        zero_weights=source.n_zero_weights,
        bad_lines=source.n_bad_lines,
        components=n_nodes - n_merges,
        isolated_nodes=int(np.count_nonzero(degree == 0)),
        degree_min=int(degree.min()) if n_nodes else 0,
        degree_median=float(np.median(degree)) if n_nodes else 0.0,
        degree_max=int(degree.max(initial=0)),
        weighted=n_edges > 0 and not weight_min == weight_max == 1.0,
        weight_min=weight_min if n_edges else 0.0,
        weight_max=weight_max,
        weight_total=weight_total,
        id_kind=id_kind_of(source),
        seconds=time.perf_counter() - started,
        peak_rss_bytes=peak_rss(),
    )
