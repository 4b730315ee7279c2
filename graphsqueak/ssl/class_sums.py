"""Labels from one pass over the edges: exact sums at labeled nodes, a sparsifier elsewhere.

On a dense graph a harmonic function is a small variation on a large constant, and the variation
enters through the edges of the labeled nodes. A sparsifier samples these edges, too, and with few
edges per node its noise is larger than the variation. But the solution does not depend on single
edges at labeled nodes. Contract the labeled nodes of each class, within each component, into one
node. In the contracted graph, the weight between node i and class c is

    S_ic = sum of w_ij over the labeled neighbors j of i that are of class c,

n C numbers that can be summed exactly as the edges arrive, for any number of labels. Edges between
other nodes are those of the sparsifier. Stable-HFS (`stable`) is solved on this graph, with the l_c
labels of a class as sample weight of its node. For eta -> 0 these are the harmonic functions
L_UU f = S Y of [ZGL03], whose right-hand side and diagonal are exact.

*Model selection.* A contracted label cannot be left out. The labels are split into folds, and the
sums are kept per fold, S = S^(1) + ... + S^(4). Without S^(k), the labels of fold k are scored
as nodes without a label.

*Down-weighting.* If a fraction q of the edges is kept, each stands for 1 / q of them, and the
coarser the sparsifier, the more its noise hides S. The sampled weights are therefore multiplied by
gamma: 1, or sqrt(q), or q (each sampled edge counts as one edge), whichever misclassifies the
fewest of the labels that were left out, the largest of those that are equal. Labels that have to
travel along many sampled edges need gamma = 1 (two moons), and many labels on a coarse sparsifier
need q (digits).

References
----------
[ZGL03] Zhu, Ghahramani, Lafferty. Semi-supervised learning using Gaussian fields and harmonic
        functions. ICML 2003.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.model_selection import eta_for_classes
from graphsqueak.ssl.stable import LOO_TOL, Fit, LooResult, mean_of_degrees, stable_scores
from graphsqueak.system.progress import reporter

__all__ = ["ClassSums", "ContractedSolver", "OnePass", "read_once"]

# Folds of the labels, each with n C sums: more folds take more memory, fewer leave out more labels.
N_FOLDS = 4


class ClassSums:
    """Weight between each node and each class, per fold of the labels.

    Parameters
    ----------
    code : array of int, shape (l,)
        Class of each label.
    n_classes : int
    random_state : int or None
        Seeds the split into folds, which is stratified by class.

    Attributes
    ----------
    fold : array of int, shape (l,)
        Fold of each label.
    label : array of int, shape (n_nodes,)
        Label of each node, or -1.
    sums : array of float, shape (n_nodes, 4, C)

    Examples
    --------
    >>> sums = ClassSums(np.array([0, 1, 1]), 2, random_state=7)
    >>> sums.append_nodes(np.array([0, 1, -1, 2]))  # nodes 0, 1 and 3 are labeled
    >>> sums.add(np.array([0, 1, 2]), np.array([2, 2, 3]), np.array([1.0, 2.0, 4.0]))
    >>> sums.sums[2].sum(axis=0)
    array([1., 6.])
    """

    def __init__(self, code, n_classes, *, random_state=None):
        shuffled = np.random.default_rng(random_state).permutation(code.size)
        by_class = shuffled[np.argsort(code[shuffled], kind="stable")]
        self.fold = np.empty(code.size, dtype=np.int64)
        self.fold[by_class] = np.arange(code.size) % N_FOLDS
        self.label = np.zeros(0, dtype=np.int64)
        self.sums = np.zeros((0, N_FOLDS, n_classes))
        self._column = np.append(self.fold * n_classes + code, -1)

    def append_nodes(self, label):
        """Add nodes, each with the number of its label or -1."""
        self.label = np.concatenate([self.label, label])
        # Room for as many nodes again: a stream grows by a few nodes per batch.
        if self.label.size > len(self.sums):
            grown = np.zeros((2 * self.label.size, *self.sums.shape[1:]))
            grown[: len(self.sums)] = self.sums
            self.sums = grown

    def add(self, tail, head, weight):
        """Add the edges between these nodes that have a labeled end."""
        column = self._column[self.label]
        # Both directions of an edge follow each other, so that the order of the additions, and
        # their rounding, does not depend on the batches.
        row = np.stack([tail, head], axis=1).ravel()
        column = column[np.stack([head, tail], axis=1)].ravel()
        is_labeled = column >= 0
        flat = self.sums.reshape(len(self.sums), -1)
        np.add.at(flat, (row[is_labeled], column[is_labeled]), np.repeat(weight, 2)[is_labeled])

    def finish(self, numbers=None):
        """Drop the spare rows; node i gets the number numbers[i], if given."""
        order = slice(0, self.label.size) if numbers is None else np.argsort(numbers)
        self.sums = self.sums[order]
        self.label = self.label[order]


class OnePass(NamedTuple):
    """What one pass over a stream leaves."""

    sparsifier: EdgeList
    sums: ClassSums
    n_edges_seen: int
    inv_mean_degree: float


def read_once(source, labels, budget, *, random_state=None, progress=False):
    """Sparsify a stream of edges, and sum its edges at labeled nodes exactly.

    Parameters
    ----------
    source : EdgeList or EdgeSource
    labels : EncodedLabels
    budget : Budget
        Edges to keep.
    random_state : int or None
        Seeds the sparsifier and the folds.
    progress : bool or callable

    Returns
    -------
    OnePass
        Nodes are numbered by id if the ids are exactly 0, ..., n - 1, else as they appear.
    """
    source = budget.sample_source(source)
    stream = StreamSparsifier(**budget._asdict(), random_state=random_state)
    sums = ClassSums(labels.code, labels.classes.size, random_state=random_state)
    numbering = Numbering()
    with reporter(progress, "labeling") as report:
        for batch in source:
            tail, head, n_nodes = numbering.apply(batch)
            n_known = sums.label.size
            if n_nodes > n_known:
                sums.append_nodes(labels.given.find(numbering.ids, n_known, n_nodes))
            sums.add(tail, head, batch.weight)
            stream.partial_fit(batch)
            report(stream.n_edges_seen_, source.fraction_read, f"kept {stream.n_kept_:,}")
    graph = stream.sparsifier(n_edges=stream.budget_)
    sums.finish(as_permutation(graph.node_ids, graph.n_nodes))
    inv_mean_degree = mean_of_degrees(stream.degrees_)
    return OnePass(graph.in_id_order(), sums, stream.n_edges_seen_, inv_mean_degree)


class ContractedSolver:
    """Stable-HFS on the graph in which the labeled nodes of a class are one node: an `HFSSolver`.

    Parameters
    ----------
    found : OnePass
    labels : ClassLabels
        Of the nodes of the sparsifier.
    eta : float or "auto"
        By which gamma is selected.
    tol : float
        Relative residual of the fit.
    random_state : int or None
        Seeds the solves.

    Attributes
    ----------
    gamma : float
        Factor of the sampled weights.
    """

    def __init__(self, found, labels, *, eta, tol, random_state):
        self._graph = found.sparsifier
        self._sums = found.sums
        self._labels = labels
        self._fold = found.sums.fold[found.sums.label[labels.nodes]]
        self._component = found.sparsifier.components()
        self._tol = tol
        self._random_state = random_state
        self.inv_mean_degree = found.inv_mean_degree
        eta = eta_for_classes(eta, self, labels.nodes.size)
        kept_fraction = found.sparsifier.n_edges / max(found.n_edges_seen, 1)
        candidates = [1.0, np.sqrt(kept_fraction), kept_fraction]
        mistakes = [self._count_mistakes(eta, gamma) for gamma in candidates]
        self.gamma = candidates[int(np.argmin(mistakes))]

    def _count_mistakes(self, eta, gamma):
        """Return how many labels are misclassified when they are left out."""
        self.gamma = gamma
        scores = self.loo(eta).scores
        is_wrong = scores.argmax(axis=1) != self._labels.code
        return np.count_nonzero(is_wrong & np.isfinite(scores[:, 0]))

    def loo(self, eta):
        """Scores of all labeled nodes, by fits without the labels of their folds."""
        scores = np.full((self._labels.nodes.size, self._labels.classes.size), np.nan)
        for number in range(N_FOLDS):
            is_out = self._fold == number
            if is_out.any() and not is_out.all():
                nodes = self._labels.nodes[is_out]
                fit = self._solve(eta, ~is_out, LOO_TOL)
                scores[is_out] = np.where(fit.reached[nodes, None], fit.centered[nodes], np.nan)
        return LooResult(scores, np.full(scores.shape, np.nan))

    def fit(self, eta):
        """`Fit` to all labels."""
        return self._solve(eta, np.ones(self._labels.nodes.size, dtype=bool), self._tol)

    def _solve(self, eta, is_used, tol):
        """`Fit` to some of the labels, for all nodes of the sparsifier."""
        graph = self._graph
        n_nodes = graph.n_nodes
        n_classes = self._labels.classes.size
        nodes = self._labels.nodes[is_used]
        group = self._component[nodes] * n_classes + self._labels.code[is_used]
        groups, group_of_label = np.unique(group, return_inverse=True)
        is_contracted = np.zeros(n_nodes, dtype=bool)
        is_contracted[nodes] = True

        # Sampled edges between nodes that are not contracted.
        is_between = ~(is_contracted[graph.tail] | is_contracted[graph.head])
        # Exact edges between these nodes and the classes.
        folds = np.unique(self._fold[is_used])
        sums = self._sums.sums[:, folds].sum(axis=1)
        sums[is_contracted] = 0.0
        tail, code = np.nonzero(sums)
        head = n_nodes + np.searchsorted(groups, self._component[tail] * n_classes + code)
        contracted = EdgeList.from_validated(
            np.concatenate([graph.tail[is_between], tail]),
            np.concatenate([graph.head[is_between], head]),
            np.concatenate([self.gamma * graph.weight[is_between], sums[tail, code]]),
            n_nodes + groups.size,
        )
        fit = stable_scores(
            contracted,
            n_nodes + np.arange(groups.size),
            np.eye(n_classes)[groups % n_classes],
            nodes.size * eta,
            sample_weight=np.bincount(group_of_label).astype(np.float64),
            tol=tol,
            random_state=self._random_state,
        )
        # Contracted nodes have the values of their class.
        place = np.arange(n_nodes)
        place[nodes] = n_nodes + group_of_label
        return Fit(*(part[place] for part in fit))
