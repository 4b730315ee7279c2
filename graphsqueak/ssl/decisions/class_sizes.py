"""Class sizes that are known, and a graph cut that has them.

*Offsets*. With few labels the largest score favors the classes whose labels happen to lie in the
middle. If class c is known to have a share s_c of the nodes, each column of scores is divided by
its spread, and offsets o_c are found for which the largest score + o_c meets the shares: a concave
problem, max over o of s o - mean over x of max_c (score_xc + o_c), by a few dozen steps.

*The cut* of few edges between classes of these sizes is sought from there by MBO steps [MKB13]: the
classes diffuse, in K = 6 implicit steps of a time tau = 2,

    (D / tau + L + F) u_k = D / tau * u_{k-1} + F y,     u_0 = classes,     F = D at labeled nodes,

(a solve each, the same matrix every time, begun at u_{k-1}), and every node takes its largest
u_K + o, sizes met again, until few nodes change. K steps damp a mode of eigenvalue t of D^-1 L by
(1 + tau t)^-K, as the heat kernel does by exp(-K tau t). A single step of the same time leaves
1 / (1 + K tau t) of it: where neighbors often disagree, noise, whose modes are many, then outweighs
the classes. A convex relaxation in place of the first cut (CutSSL [HCWCM24] without its concave
term: rows in the simplex, sizes as constraints, ADMM) is no other way: its first rounds are such a
diffusion, which the maximum principle keeps in the simplex, and its optimum is a start hardly
better than the scores.

*Sizes that are not known* ("auto") are what the scores alone decide, shrunk towards equal ones by a
share C / (l + C). (The shares of l labels are the noisier estimate: with 20 labels a class, a class
in ten has another size by a third.)

References
----------
[MKB13] Merkurjev, Kostic, Bertozzi. An MBO scheme on graphs for classification and image
        processing. SIAM Journal on Imaging Sciences 6(4), 2013.
[HCWCM24] Holtz, Chen, Wan, Cheng, Mishne. Continuous partitioning for graph-based semi-supervised
        learning. NeurIPS 2024.
"""

from collections.abc import Mapping

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.validation import check_real

__all__ = ["class_shares", "cut_scores", "meet_sizes"]

_MOST_STEPS = 300  # of offsets
_CLOSE = 1e-3  # of a share
_TAU = 2.0
_N_STEPS = 6  # of diffusion, from one cut to the next
_MOST_CUTS = 12
_SETTLED = 0.01  # share of the nodes that still change: flatter borders are no better ones
_TOL = 1e-3  # of the solves of diffusion


def class_shares(class_sizes, labels, scores):
    """Shares of the classes: given, of the labels, or estimated.

    Parameters
    ----------
    class_sizes : "labels", "auto" or mapping from classes to sizes
    labels : ClassLabels
    scores : array (n, C)
        Of the nodes that a label reaches.

    Examples
    --------
    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    >>> class_shares({"ham": 30, "spam": 10}, labels, np.zeros((4, 2)))
    array([0.75, 0.25])
    """
    counts = np.bincount(labels.code, minlength=labels.classes.size)
    if isinstance(class_sizes, Mapping):
        names = labels.classes.tolist()
        if set(class_sizes) != set(names):
            raise InputError(
                f"class_sizes tells the sizes of {sorted(map(str, class_sizes))} and the labels "
                f"are {sorted(map(str, names))}; give one of each"
            )
        sizes = [check_real(f"size of class {c}", class_sizes[c], above=0.0) for c in names]
        return np.array(sizes) / np.sum(sizes)
    if isinstance(class_sizes, str) and class_sizes == "labels":
        return counts / counts.sum()
    if isinstance(class_sizes, str) and class_sizes == "auto":
        decided = np.bincount(scores.argmax(axis=1), minlength=counts.size) / max(len(scores), 1)
        return (counts.sum() * decided + 1) / (counts.sum() + counts.size)
    raise InputError(
        Parameter("class_sizes", class_sizes),
        " is not understood; give None, 'labels', 'auto' or a mapping from classes to sizes",
    )


def meet_sizes(scores, shares):
    """Scores (n, C) in units of their spread, with offsets by which classes get these shares.

    >>> scores = np.array([[2.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.4, 0.0]])
    >>> np.bincount(meet_sizes(scores, np.array([0.5, 0.5])).argmax(axis=1))
    array([2, 2])
    """
    spread = scores.std(axis=0)
    scores = scores / np.where(spread > 0, spread, 1.0)
    offset = np.zeros(shares.size)
    best, least, step = offset, np.inf, float(scores.std()) or 1.0
    for number in range(_MOST_STEPS):
        found = np.bincount((scores + offset).argmax(axis=1), minlength=shares.size) / len(scores)
        wrong = shares - found
        if np.abs(wrong).max() < least:
            best, least = offset, np.abs(wrong).max()
        if least <= max(_CLOSE, 0.5 / len(scores)):
            break
        offset = offset + step * shares.size * wrong / (1 + number / 20)
    return scores + best


def cut_scores(graph, labels, scores, reached, shares, *, random_state=None):
    """Scores of a cut of few edges, of classes with these shares, begun from `scores` (n, C).

    Nodes that no label reaches have no part in it.
    """
    degrees, one_hot, labeled = graph.degrees(), np.eye(shares.size), labels.nodes
    hold = np.where(degrees > 0, degrees, 1.0) / _TAU
    ridge, given = hold.copy(), np.zeros(scores.shape)
    ridge[labeled] += _TAU * hold[labeled]
    given[labeled] = _TAU * hold[labeled, None] * (labels.one_hot() - 1 / shares.size)
    solver = LaplacianSolver(
        graph, ridge=ridge, tol=_TOL, n_solves=_N_STEPS * _MOST_CUTS, random_state=random_state
    )
    scores, known = scores.copy(), np.flatnonzero(reached)
    code = scores.argmax(axis=1)
    for _ in range(_MOST_CUTS):
        code[labeled] = labels.code
        spread = one_hot[code] - 1 / shares.size
        for _ in range(_N_STEPS):
            spread = solver.solve(hold[:, None] * spread + given, start=spread)
        scores[known] = meet_sizes(spread[known], shares)
        before, code = code, scores.argmax(axis=1)
        if np.count_nonzero(code != before) <= _SETTLED * code.size:
            break
    return scores - scores.mean(axis=1, keepdims=True)
