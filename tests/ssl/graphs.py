"""Small random graphs with labels, for the tests of this folder."""

import numpy as np

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.ssl.stable import Problem, StableSystem


def random_graph(seed, *, n_nodes=30, n_edges=90):
    """Connected (a path through all nodes), with uneven weights."""
    rng = np.random.default_rng(seed)
    tail = np.concatenate([np.arange(n_nodes - 1), rng.integers(n_nodes, size=n_edges)])
    head = np.concatenate([np.arange(1, n_nodes), rng.integers(n_nodes, size=n_edges)])
    weight = rng.lognormal(size=tail.size)
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes)


def three_parts(seed):
    """Two labeled components (of 12 and 9 nodes) and one of 5 without a label."""
    parts = [random_graph(seed + i, n_nodes=n, n_edges=3 * n) for i, n in enumerate((12, 9, 5))]
    start = np.cumsum([0, 12, 9])
    tail = np.concatenate([part.tail + s for part, s in zip(parts, start, strict=True)])
    head = np.concatenate([part.head + s for part, s in zip(parts, start, strict=True)])
    weight = np.concatenate([part.weight for part in parts])
    labeled = np.array([0, 3, 7, 13, 15, 20])
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=26), labeled


def two_blocks(seed, *, size=40, inside=0.4, between=0.03):
    """A block model of two classes; returns the graph and the true class of every node."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], size)
    low, high = np.triu_indices(2 * size, 1)
    prob = np.where(truth[low] == truth[high], inside, between)
    kept = rng.random(low.size) < prob
    return EdgeList(tail=low[kept], head=high[kept], n_nodes=2 * size), truth


def hide(truth, nodes):
    """`truth` at `nodes`, -1 elsewhere."""
    y = np.full(truth.shape, -1)
    y[nodes] = truth[nodes]
    return y


def uneven_blocks(seed, homophily, *, n_nodes=600, degree=16, shares=(0.7, 0.3)):
    """A degree-corrected block model; returns the graph and the true class of every node.

    An edge begins at a node drawn by its own weight and ends, with probability |homophily|, in the
    same class (or, if it is negative, in another), else anywhere: the classes at its ends have that
    correlation (with a minus, if there are two classes of the same size).
    """
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(shares), n_nodes, p=shares if homophily >= 0 else None)
    weight = rng.pareto(3.0, n_nodes) + 0.5

    def draw(size, among):
        cumulative = np.cumsum(np.where(among, weight, 0.0))
        return np.searchsorted(cumulative, rng.random(size) * cumulative[-1])

    n_edges, anyone = n_nodes * degree // 2, np.ones(n_nodes, dtype=bool)
    tail, head = draw(n_edges, anyone), draw(n_edges, anyone)
    told = rng.random(n_edges) < abs(homophily)
    for number in range(len(shares)):
        pick = told & (truth[tail] == number)
        among = truth == number if homophily >= 0 else truth != number
        head[pick] = draw(np.count_nonzero(pick), among)
    keep = tail != head
    return EdgeList(tail=tail[keep], head=head[keep], n_nodes=n_nodes), truth


def smooth_labels(graph, labeled, columns, alpha, *, sample_weight=None, tol=1e-8):
    """Return M b for every column b (l, K): the minimizer for labels b that are not centered."""
    system = StableSystem(graph.components(), Problem(labeled, columns, sample_weight), alpha)
    solver = LaplacianSolver(graph, ridge=system.ridge, tol=tol, random_state=7)
    return system.constrain(solver.solve(system.right_side(columns)))[0]


def leave_one_out(graph, labeled, targets, alpha, *, signs=None, sample_weight=None):
    """`LooResult` to full accuracy, by a column per label or by the signs given."""
    signs = np.eye(labeled.size) if signs is None else signs
    columns = np.column_stack([targets, np.ones(labeled.size), signs])
    values = smooth_labels(graph, labeled, columns, alpha, sample_weight=sample_weight, tol=1e-12)
    labels = Problem(labeled, targets, sample_weight)
    return StableSystem(graph.components(), labels, alpha).loo_from_raw(values, signs)
