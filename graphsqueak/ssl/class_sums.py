"""Labels from one pass over the edges: exact sums at labeled nodes, a sparsifier elsewhere.

On a dense graph a harmonic function is a small variation on a large constant, and the variation
enters through the edges of the labeled nodes. A sparsifier samples these edges as well, and with
few edges per node its noise is larger than the variation. But the solution does not depend on
single edges at labeled nodes. Contract the labeled nodes of each class, within each component, into
one node. In the contracted graph, the weight between node i and class c is

    S_ic = sum of w_ij over the labeled neighbors j of i that are of class c,

n C numbers that can be summed exactly as the edges arrive, for any number of labels. Edges between
other nodes are those of the sparsifier. Stable-HFS (`stable`) is solved on this graph, with the l_c
labels of a class as sample weight of its node. For eta -> 0 these are the harmonic functions
L_UU f = S Y of [ZGL03], whose right-hand side and diagonal are exact.

*Model selection.* A contracted label cannot be left out. The labels are split into folds, and the
sums are kept per fold, S = S^(1) + ... + S^(4). Without S^(k), the labels of fold k are scored
as nodes without a label.

*Down-weighting.* If a fraction q of the edges is kept, each represents 1 / q of them, and the
coarser the sparsifier, the more its noise hides S. The sampled weights are therefore multiplied by
gamma: 1, or sqrt(q), or q (each sampled edge counts as one edge), the one that misclassifies the
fewest of the labels that were left out; of equal ones the largest. Labels that have to propagate
along many sampled edges need gamma = 1 (two moons), and many labels on a coarse sparsifier need
gamma = q (digits).

References
----------
[ZGL03] Zhu, Ghahramani, Lafferty. Semi-supervised learning using Gaussian fields and harmonic
        functions. ICML 2003.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import append_growable
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.model_selection import eta_for_classes
from graphsqueak.ssl.stable import LOO_TOL, Fit, LooResult, mean_of_degrees, stable_scores
from graphsqueak.system.progress import reporter

__all__ = ["ClassSums", "ContractedSolver", "OnePass", "read_once"]


class ClassSums:
    """Weight between each node and each class, per fold of the labels.

    Parameters
    ----------
    code : array of int, shape (l,)
        Class of each label.
    n_classes : int
    n_folds : int
        Number of folds, each with n C sums. More folds take more memory, and leave out fewer labels
        at a time.
    random_state : int or None
        Seed of the split into folds, which is stratified by class.

    Attributes
    ----------
    fold : array of int, shape (l,)
        Fold of each label.
    label : array of int, shape (n_nodes,)
        Label of each node, or -1.
    sums : array of float, shape (n_nodes, n_folds, C)

    Examples
    --------
    >>> sums = ClassSums(np.array([0, 1, 1]), 2, random_state=7)
    >>> sums.append_nodes(np.array([0, 1, -1, 2]))  # nodes 0, 1 and 3 are labeled
    >>> sums.add(np.array([0, 1, 2]), np.array([2, 2, 3]), np.array([1.0, 2.0, 4.0]))
    >>> sums.sums[2].sum(axis=0)
    array([1., 6.])
    """

    def __init__(self, code, n_classes, *, n_folds=4, random_state=None):
        # Sorted by class in random order, and assigned to the folds in turn: stratified.
        shuffled = np.random.default_rng(random_state).permutation(code.size)
        by_class = shuffled[np.argsort(code[shuffled], kind="stable")]
        self.fold = np.empty(code.size, dtype=np.int64)
        self.fold[by_class] = np.arange(code.size) % n_folds
        self.label = np.zeros(0, dtype=np.int64)
        self._shape = (-1, n_folds, n_classes)
        self._flat = np.zeros(0)
        # Column of each label among the sums of a node, -1 for nodes without a label.
        self._column = np.append(self.fold * n_classes + code, -1)

    def append_nodes(self, label):
        """Add nodes, each with the number of its label or -1."""
        self.label = append_growable(self.label, label)
        n_sums = label.size * self._shape[1] * self._shape[2]
        self._flat = append_growable(self._flat, np.zeros(n_sums))

    @property
    def sums(self):
        """Sums of all nodes."""
        return self._flat.reshape(self._shape)

    def add(self, tail, head, weight):
        """Add the edges between these nodes that have a labeled end."""
        column = self._column[self.label]
        # The two directions of an edge are adjacent, so that the order of the additions, and their
        # rounding, does not depend on the batches.
        row = np.stack([tail, head], axis=1).ravel()
        column = column[np.stack([head, tail], axis=1)].ravel()
        is_labeled = column >= 0
        n_columns = self._shape[1] * self._shape[2]
        place = row[is_labeled] * n_columns + column[is_labeled]
        np.add.at(self._flat, place, np.repeat(weight, 2)[is_labeled])

    def renumber(self, numbers):
        """Give node i the number numbers[i]."""
        order = np.argsort(numbers)
        self._flat = self.sums[order].ravel()
        self.label = self.label[order]


class OnePass(NamedTuple):
    """The result of one pass over a stream: a sparsifier, and exact sums at labeled nodes."""

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
        Number of edges of the sparsifier.
    random_state : int or None
        Seed of the sparsifier and of the folds.
    progress : bool or callable

    Returns
    -------
    OnePass
        Nodes are numbered by id if the ids are exactly 0, ..., n - 1, else as they appear.
    """
    source = budget.sample_source(source)
    stream = StreamSparsifier(
        n_edges=budget.n_edges,
        epsilon=budget.epsilon,
        keep=budget.keep,
        random_state=random_state,
    )
    sums = ClassSums(labels.code, labels.classes.size, random_state=random_state)
    numbering = Numbering()
    with reporter(progress, "labeling") as report:
        for batch in source.batches():
            tail, head, n_nodes = numbering.apply(batch)
            n_known = sums.label.size
            if n_nodes > n_known:
                sums.append_nodes(labels.given.find(numbering.ids, n_known, n_nodes))
            sums.add(tail, head, batch.weight)
            stream.partial_fit(batch)
            report(stream.n_edges_seen_, source.fraction_read, f"kept {stream.n_kept_:,}")
    # The arrays of sums are in the order in which nodes appeared in the stream.
    graph = stream.sparsifier(n_edges=stream.budget_)
    numbers = as_permutation(graph.node_ids, graph.n_nodes)
    if numbers is not None:
        sums.renumber(numbers)
    inv_mean_degree = mean_of_degrees(stream.degrees_)
    return OnePass(graph.in_id_order(), sums, stream.n_edges_seen_, inv_mean_degree)


class ContractedSolver:
    """Stable-HFS on the graph in which the labeled nodes of a class are one node: an `HFSSolver`.

    Parameters
    ----------
    found : OnePass
    labels : ClassLabels
        Labels of the nodes of the sparsifier.
    eta : float or "auto"
        The eta with which gamma is selected.
    tol : float
        Relative residual of the fit.
    random_state : int or None
        Seed of the solves.

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
        eta = eta_for_classes(eta, self.inv_mean_degree, labels.nodes.size)
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
        """Return scores of all labeled nodes, by fits without the labels of their folds."""
        scores = np.full((self._labels.nodes.size, self._labels.classes.size), np.nan)
        mean = scores.copy()
        mean_of_all = scores.copy()
        for fold in np.unique(self._fold):
            is_out = self._fold == fold
            if not is_out.all():
                nodes = self._labels.nodes[is_out]
                fit = self._solve(eta, ~is_out, LOO_TOL)
                has_label = fit.has_label[nodes, None]
                scores[is_out] = np.where(has_label, fit.centered[nodes], np.nan)
                mean[is_out] = np.where(has_label, fit.offset[nodes], np.nan)
                mean_of_all[is_out] = self._labels.targets[~is_out].mean(axis=0)
        return LooResult(scores, mean, mean_of_all)

    def fit(self, eta):
        """Return the fit to all labels."""
        return self._solve(eta, np.ones(self._labels.nodes.size, dtype=bool), self._tol)

    def _solve(self, eta, is_used, tol):
        """Return the `Fit` to some of the labels, for all nodes of the sparsifier."""
        graph = self._graph
        n_nodes = graph.n_nodes
        n_classes = self._labels.classes.size
        nodes = self._labels.nodes[is_used]
        # A group is the labels of one class in one component.
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
        row = np.arange(n_nodes)
        row[nodes] = n_nodes + group_of_label
        return Fit(fit.centered[row], fit.offset[row], fit.has_label[row])
