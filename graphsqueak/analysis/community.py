"""Communities: groups of high modularity, by Leiden or Louvain, and how stable they are.

Modularity of labels c at resolution g compares the weight inside communities with what degrees
alone would give,

    Q = sum_c (inside_c / m - g (degree_c / 2m)^2),     m the total weight.

Leiden is igraph's, where that is installed, and Louvain networkx's. Both are random and greedy: on
one graph two runs differ. How much communities of a sparsifier differ from those of the graph means
something only beside that, which is why both figures are given (adjusted mutual information, AMI: 1
the same, 0 chance).

A file is sparsified first and never held; the modularity is the graph's own all the same, in one
pass.
"""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphsqueak.analysis.open_graph import OpenGraph
from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_choice, check_real

__all__ = [
    "Communities",
    "agreement_of_runs",
    "communities",
    "default_runs",
    "described_runs",
    "find_labels",
]

_FINENESS = 64  # steps of an average weight
_RUNS = {"leiden": ((2_000_000, 3),), "louvain": ((20_000, 3), (100_000, 1))}  # up to so many edges


@dataclass(frozen=True)
class Communities:
    """A community for every node.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        0, 1, ..., the largest first.
    modularity : float
        Of these labels in the graph, also where they were found in its sparsifier.
    ids : ndarray of shape (n_nodes,)
        The user's own name of each node.
    method : str
        "leiden" or "louvain".
    ami, ami_again : float
        Agreement with the communities of `against`, and of these with themselves in a second run;
        NaN where not asked for.
    """

    labels: np.ndarray = field(repr=False)
    modularity: float
    ids: np.ndarray = field(repr=False)
    method: str
    ami: float = float("nan")
    ami_again: float = float("nan")

    def __array__(self, dtype=None, copy=None):
        return np.array(self.labels, dtype=dtype, copy=copy)

    @property
    def n_communities(self) -> int:
        """How many there are."""
        return int(self.labels.max(initial=-1)) + 1

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of what is known."""
        sizes = np.bincount(self.labels)
        shown = ", ".join(f"{size:,}" for size in sizes[:8])
        more = f", ... {sizes.size - 8:,} more" if sizes.size > 8 else ""
        rows = [
            ("communities", f"{self.n_communities:,}, by {self.method}"),
            ("nodes in each", shown + more),
            ("modularity", f"{self.modularity:.4f}"),
        ]
        if not np.isnan(self.ami):
            said = f"AMI {self.ami:.3f} (that graph with itself, run again: {self.ami_again:.3f})"
            rows.append(("agreement with the other graph", said))
        return rows

    def __str__(self):
        return "\n".join(f"{name:<31} {value}" for name, value in self.rows())

    def _repr_html_(self):
        return html_table(self.rows(), words=True)


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
    """Find groups of nodes that have more weight among them than their degrees would give.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        Of a file (`read_edges`), or where a sparsifier or its size is given, the communities are
        those of the sparsifier, and the modularity is that of the graph.
    method : {"auto", "leiden", "louvain"}
        "auto" is Leiden if igraph is installed, else Louvain.
    resolution : float
        Above 1 for more and smaller communities.
    against : any graph, optional
        One to agree with, such as the graph of which `graph` is a sparsifier, with the same ids;
        held in memory, and run twice.
    n_edges : int, optional
        Size of the sparsifier. Default, of what is read: for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
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
            Parameter("method", "leiden"), " needs igraph; pip install igraph, or take 'louvain'"
        )
    if method == "auto":
        method = _best_method()
    opened = OpenGraph(graph, n_edges, sparsifier, random_state, progress)
    seed = opened.seed() % 2**31
    labels = find_labels(opened.held, method=method, resolution=resolution, seed=seed)
    modularity = _modularity(opened, labels, resolution)
    ami = again = float("nan")
    if against is not None:
        ami, again = _agreement(opened.held.ids, labels, against, method, resolution, seed)
    return Communities(labels, modularity, opened.held.ids, method, ami, again)


def find_labels(graph: EdgeList, *, method: str, resolution: float = 1.0, seed: int) -> np.ndarray:
    """A number for every node, the largest community first.

    Weights are rounded to whole numbers: networkx moves nodes forth and back for ever between
    communities that are equally good up to rounding.
    """
    simple = graph.simplified()
    mean = simple.weight.mean() if simple.n_edges else 1.0
    weight = np.maximum(1, np.rint(_FINENESS * simple.weight / mean)).astype(np.int64)
    find = _leiden if method == "leiden" else _louvain
    labels = find(simple, weight, resolution, seed)
    order = np.argsort(-np.bincount(labels), kind="stable")
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    return number[labels]


def default_runs(graph: EdgeList) -> int:
    """How often communities are found where nobody says: less often where that takes minutes."""
    limits = _RUNS[_best_method()]
    return next((n_runs for most, n_runs in limits if graph.n_edges <= most), 0)


def described_runs(n_runs: int) -> str:
    """What was done, for a person.

    >>> described_runs(0)
    'left out: so many edges take minutes; n_runs=3 asks for them'
    """
    if not n_runs:
        return "left out: so many edges take minutes; n_runs=3 asks for them"
    often = "once" if n_runs == 1 else f"{n_runs} times"
    return f"by {_best_method().capitalize()}'s method, {often} on each graph"


def agreement_of_runs(
    graphs: list[EdgeList], n_runs: int, rng: np.random.Generator
) -> tuple[dict, list[dict]]:
    """Mean agreement (AMI) of the communities of graphs with those of the first.

    Parameters
    ----------
    graphs : list of EdgeList
        A graph, its sparsifier and, if wanted, uniform edges, on the same nodes.
    n_runs : int
        On each graph, and once more as many on the first.
    rng : numpy.random.Generator

    Returns
    -------
    agreement : dict
        Of the first graph with itself ("again"), with the "sparsifier" and the "uniform" edges.
    conductances : list of dict
        For each graph, the mean conductances in the first one of the communities of its runs.
    """
    if not n_runs or not graphs[0].n_edges:
        return {}, []
    from sklearn.metrics import adjusted_mutual_info_score as agreement

    seeds = rng.integers(2**31, size=(len(graphs) + 1, n_runs)).tolist()
    graphs, method = [*graphs[:1], *graphs], _best_method()  # the graph itself twice
    found = [
        [find_labels(one, method=method, seed=seed) for seed in own]
        for one, own in zip(graphs, seeds, strict=True)
    ]
    names = ("again", "sparsifier", "uniform")
    means = {
        name: float(np.mean([agreement(a, b) for a, b in zip(found[0], own, strict=True)]))
        for name, own in zip(names, found[1:], strict=False)
    }
    name = "conductance of clusters"
    values = [
        {name: np.array([_mean_conductance(graphs[0], labels) for labels in own])}
        for own in (found[0], *found[2:])
    ]
    return means, values


def _best_method():
    return "louvain" if find_spec("igraph") is None else "leiden"


def _mean_conductance(graph, labels):
    """Of all clusters in `graph`, each counted by its total degree."""
    crossing = graph.weight @ (labels[graph.tail] != labels[graph.head])
    return 2 * crossing / max(graph.degrees().sum(), 1e-300)


def _louvain(graph, weight, resolution, seed):
    import networkx as nx

    plain = nx.Graph()
    plain.add_nodes_from(range(graph.n_nodes))
    ends = zip(graph.tail.tolist(), graph.head.tolist(), weight.tolist(), strict=True)
    plain.add_weighted_edges_from(ends)
    labels = np.empty(graph.n_nodes, dtype=np.int64)
    found = nx.community.louvain_communities(plain, resolution=resolution, seed=seed)
    for number, nodes in enumerate(sorted(found, key=min)):
        labels[list(nodes)] = number
    return labels


def _leiden(graph, weight, resolution, seed):
    import random

    igraph: Any = __import__("igraph")
    plain = igraph.Graph(n=graph.n_nodes, edges=np.column_stack([graph.tail, graph.head]).tolist())
    igraph.set_random_number_generator(random.Random(seed))
    found = plain.community_leiden(
        objective_function="modularity",
        weights=weight.tolist(),
        resolution=resolution,
        n_iterations=-1,
    )
    return np.unique(found.membership, return_inverse=True)[1]


def _modularity(opened, labels, resolution):
    """In one pass over the graph itself."""
    inside = total = 0.0
    for tail, head, weight in opened.batches("measuring communities"):
        inside += weight @ (labels[tail] == labels[head])
        total += weight.sum()
    if total == 0:
        return 0.0
    share = np.bincount(labels, opened.degrees) / (2 * total)
    return float(inside / total - resolution * (share @ share))


def _agreement(ids, labels, against, method, resolution, seed):
    """AMI with the communities of another graph, and of these with a second run."""
    from sklearn.metrics import adjusted_mutual_info_score

    other = as_edge_list(against)
    runs = [
        find_labels(other, method=method, resolution=resolution, seed=seed + i) for i in range(2)
    ]
    node = make_node_finder(other.node_ids, other.n_nodes)(ids)
    both = node >= 0
    if not both.any():
        raise InputError("the two graphs have no node in common; give graphs of the same ids")
    ami = adjusted_mutual_info_score(runs[0][node[both]], labels[both])
    return float(ami), float(adjusted_mutual_info_score(*runs))
