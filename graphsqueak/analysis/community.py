"""Communities of high modularity, by Leiden or Louvain, and how stable they are.

The modularity of labels c with resolution g compares the weight within communities with the weight
that the degrees alone would give,

    Q = sum_c (inside_c / m - g (degree_c / 2m)^2),     m the total weight.

The Leiden method is that of igraph, if it is installed; the Louvain method is that of networkx.
Both are random and greedy: two runs on one graph give different labels. The agreement of a graph
and its sparsifier is only meaningful compared with the agreement of two runs on the graph. Both are
reported as adjusted mutual information (AMI): 1 if equal, 0 on average for random labels.

A streamed graph is sparsified first. Its communities are those of the sparsifier, but their
modularity is measured on the graph, in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np

from graphsqueak.analysis.analyzed_graph import AnalyzedGraph
from graphsqueak.analysis.clusters import number_by_size
from graphsqueak.analysis.results import ArrayResult
from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.system.frames import FRAME_NAMES
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_choice, check_real, explain_keywords


@dataclass(frozen=True)
class Communities(ArrayResult):
    """Result of `communities`. `numpy.asarray` returns `labels`.

    As a data frame (`to_pandas`, `to_polars`) it has the columns node and community.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        Community 0, 1, ... of each node, the largest first.
    modularity : float
        Modularity of the labels in the graph, also if they were found on its sparsifier.
    ids : ndarray of shape (n_nodes,)
        Id of each node.
    method : str
        "leiden" or "louvain".
    ami, ami_baseline : float
        Agreement with the communities of `against`, and agreement of two runs on `against`. NaN
        without `against`.
    """

    _array = "labels"
    _other_names = FRAME_NAMES | {"labels_": "labels"}

    labels: np.ndarray = field(repr=False)
    modularity: float
    ids: np.ndarray = field(repr=False)
    method: str
    ami: float = float("nan")
    ami_baseline: float = float("nan")

    def _columns(self):
        return {"node": self.ids, "community": self.labels}

    @property
    def n_communities(self) -> int:
        """Number of communities."""
        return int(self.labels.max(initial=-1)) + 1

    def rows(self) -> list[tuple]:
        """Return the rows of the table."""
        sizes = np.bincount(self.labels)
        shown = ", ".join(f"{size:,}" for size in sizes[:8])
        more = f", ... {sizes.size - 8:,} more" if sizes.size > 8 else ""
        rows = [
            ("communities", f"{self.n_communities:,}, by {self.method}"),
            ("nodes in each", shown + more),
            ("modularity", f"{self.modularity:.4f}"),
        ]
        if not np.isnan(self.ami):
            agreement = f"AMI {self.ami:.3f} (two runs on that graph: {self.ami_baseline:.3f})"
            rows.append(("agreement with the other graph", agreement))
        return rows


@explain_keywords(n_clusters="spectral_clusters(graph, n_clusters={})")
def communities(
    graph: GraphLike,
    *,
    method: str = "auto",
    resolution: float = 1.0,
    against: GraphLike | None = None,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    random_state: RandomState = None,
    progress: Progress = False,
) -> Communities:
    """Find communities: groups of nodes with more edges inside than their degrees would give.

    Use it for an unknown number of groups of different sizes. For a few groups with a bound on
    their conductance, use `spectral_clusters`.

    Parameters
    ----------
    graph : GraphLike
        For a file, or if `n_edges` or `sparsifier` is given, communities are found
        on the sparsifier, and their modularity is measured on the graph.
    method : {"auto", "leiden", "louvain"}
        "auto" is Leiden if igraph is installed, else Louvain.
    resolution : float
        Above 1 for more and smaller communities.
    against : any graph, optional
        A graph with the same ids to compare with, such as the graph that was sparsified. Its
        communities are found twice, in memory.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Communities

    Examples
    --------
    >>> from graphsqueak.sources import barbell
    >>> found = communities(barbell(8).to_edge_list(), method="louvain", random_state=7)
    >>> found.labels
    array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    """
    check_choice("method", method, ("auto", "leiden", "louvain"))
    check_real("resolution", resolution, above=0.0)
    if method == "leiden" and find_spec("igraph") is None:
        raise InputError(
            Parameter("method", "leiden"), " needs igraph; pip install igraph, or use 'louvain'"
        )
    if method == "auto":
        method = best_method()
    analyzed = AnalyzedGraph(graph, n_edges, sparsifier, random_state, progress)
    seed = analyzed.new_seed() % 2**31
    labels = find_labels(analyzed.in_memory, method=method, resolution=resolution, seed=seed)
    ami = float("nan")
    ami_baseline = float("nan")
    if against is not None:
        other = as_edge_list(against)
        # The agreement of two runs on one graph is the baseline.
        first, second = (
            find_labels(other, method=method, resolution=resolution, seed=seed + i)
            for i in range(2)
        )
        ami = _ami_of_common_nodes(analyzed.ids, labels, other, first)
        ami_baseline = _ami(first, second)
    return Communities(
        labels,
        _modularity(analyzed, labels, resolution),
        analyzed.ids,
        method,
        ami=ami,
        ami_baseline=ami_baseline,
    )


def find_labels(graph: EdgeList, *, method: str, resolution: float = 1.0, seed: int) -> np.ndarray:
    """Return the community of every node, the largest first.

    Parameters
    ----------
    graph : EdgeList
    method : {"leiden", "louvain"}
    resolution : float
    seed : int
    """
    simple = graph.simplified()
    mean = simple.weight.mean() if simple.n_edges else 1.0
    # Integers of 64 on average, because networkx moves nodes back and forth without end between
    # communities that are equally good up to rounding.
    weight = np.maximum(1, np.rint(64 * simple.weight / mean)).astype(np.int64)
    find = _find_by_leiden if method == "leiden" else _find_by_louvain
    return number_by_size(find(simple, weight, resolution, seed))


def compare_communities(
    graphs: list[EdgeList], n_runs: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Compare the communities of graphs with those of the first graph.

    The results are those of all runs so far, so that the caller may stop after any run.

    Parameters
    ----------
    graphs : list of EdgeList
        A graph, and others on the same nodes.
    n_runs : int
        Number of runs on each graph. The first graph gets as many again, as a baseline.
    rng : numpy.random.Generator

    Yields
    ------
    agreement : ndarray of shape (n_graphs, n_runs so far)
        AMI of the first graph with itself, and with each other graph.
    conductances : ndarray of the same shape
        For each graph, the mean conductance of its communities in the first graph.
    """
    method = best_method()
    agreement = []
    conductances = []
    for seeds in rng.integers(2**31, size=(n_runs, len(graphs) + 1)).tolist():
        labels, *others = (
            find_labels(graph, method=method, seed=seed)
            for graph, seed in zip([graphs[0], *graphs], seeds, strict=True)
        )
        agreement.append([_ami(labels, other) for other in others])
        conductances.append([_mean_conductance(graphs[0], one) for one in (labels, *others[1:])])
        yield np.transpose(agreement), np.transpose(conductances)


def best_method() -> str:
    """Return "leiden" if igraph is installed, else "louvain"."""
    return "louvain" if find_spec("igraph") is None else "leiden"


def _ami(first, second):
    from sklearn.metrics import adjusted_mutual_info_score

    return float(adjusted_mutual_info_score(first, second))


def _ami_of_common_nodes(ids, labels, other, other_labels):
    node = make_node_finder(other.node_ids, other.n_nodes)(ids)
    # Nodes that the other graph lacks have the number -1.
    is_common = node >= 0
    if not is_common.any():
        raise InputError("the two graphs have no node in common; give graphs with the same ids")
    return _ami(other_labels[node[is_common]], labels[is_common])


def _mean_conductance(graph, labels):
    """Return the mean conductance of the communities, weighted by their total degrees."""
    crossing = graph.weight @ (labels[graph.tail] != labels[graph.head])
    return 2 * crossing / graph.degrees().sum()


def _find_by_louvain(graph, weight, resolution, seed):
    import networkx as nx

    nx_graph = nx.Graph()
    nx_graph.add_nodes_from(range(graph.n_nodes))
    edges = zip(graph.tail.tolist(), graph.head.tolist(), weight.tolist(), strict=True)
    nx_graph.add_weighted_edges_from(edges)
    labels = np.empty(graph.n_nodes, dtype=np.int64)
    groups = nx.community.louvain_communities(nx_graph, resolution=resolution, seed=seed)
    # In the order of their first nodes, because the order of sets is arbitrary.
    for number, nodes in enumerate(sorted(groups, key=min)):
        labels[list(nodes)] = number
    return labels


def _find_by_leiden(graph, weight, resolution, seed):
    import random

    import igraph

    ends = np.column_stack([graph.tail, graph.head]).tolist()
    ig_graph = igraph.Graph(n=graph.n_nodes, edges=ends)
    # igraph has one random number generator for the process, and no seed per call.
    igraph.set_random_number_generator(random.Random(seed))
    found = ig_graph.community_leiden(
        objective_function="modularity",
        weights=weight.tolist(),
        resolution=resolution,
        n_iterations=-1,
    )
    return np.unique(found.membership, return_inverse=True)[1]


def _modularity(graph, labels, resolution):
    """Return the modularity in the graph itself, in one pass."""
    inside = 0.0
    total = 0.0
    for tail, head, weight in graph.batches("measuring communities"):
        inside += weight @ (labels[tail] == labels[head])
        total += weight.sum()
    if total == 0:
        return 0.0
    fraction = np.bincount(labels, graph.degrees) / (2 * total)
    return float(inside / total - resolution * (fraction @ fraction))
