"""Decisions that meet class sizes: by offsets of the scores, or by a graph cut.

*Offsets.* With few labels, the largest score favors the classes whose labels happen to lie in the
middle. If class c is known to have a fraction s_c of the nodes, each column of scores is divided by
its standard deviation, and offsets o_c are found with which the largest score + o_c meets the
fractions: a concave problem, max over o of s o - mean over x of max_c (score_xc + o_c), solved by
subgradient steps.

*The cut* with few edges between classes of these sizes is sought from there by MBO steps [MKB13].
The classes diffuse in K = 6 implicit steps of duration tau = 2,

    (D / tau + L + F) u_k = D / tau * u_{k-1} + F y,     u_0 = classes,     F = D at labeled nodes,

one solve each, with the same matrix, started at u_{k-1}. Each node then takes its largest u_K + o,
with offsets o that meet the sizes again. This is repeated until few nodes change. K steps reduce a
mode of eigenvalue t of D^-1 L by (1 + tau t)^-K, as the heat kernel does by exp(-K tau t). A single
step of the same total duration leaves 1 / (1 + K tau t) of it: if neighbors often disagree, the
noise, which has many modes, then outweighs the classes. A convex relaxation (CutSSL [HCWCM24]) has
an optimum that is hardly a better start than the scores.

*Sizes that are not known* ("auto") are those that the scores alone decide, shrunk towards equal
ones by a fraction C / (l + C). The class frequencies of the labels are a noisier estimate: with 20
labels per class, their relative standard deviation is 22 %.

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

__all__ = ["class_fractions", "cut_scores", "meet_sizes"]

# Duration of a diffusion step. On eight graphs with 3 and 10 labels per class, known sizes and six
# seeds, halved: accuracy 0.4 points lower; doubled: 1.1 lower.
DIFFUSION_TIME = 2.0
# Diffusion steps from one cut to the next. On the same graphs, halved: 1.0 points lower; doubled:
# 1.4 lower.
N_DIFFUSION_STEPS = 6


def class_fractions(class_sizes, labels, scores):
    """Return the fraction of the nodes in each class: given, of the labels, or estimated.

    Parameters
    ----------
    class_sizes : "labels", "auto" or mapping from classes to sizes
    labels : ClassLabels
    scores : array of shape (n, C)
        Scores of the nodes in a component with a label.

    Examples
    --------
    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    >>> class_fractions({"ham": 30, "spam": 10}, labels, np.zeros((4, 2)))
    array([0.75, 0.25])
    """
    n_labels = labels.code.size
    n_classes = labels.classes.size
    if isinstance(class_sizes, Mapping):
        names = labels.classes.tolist()
        if set(class_sizes) != set(names):
            raise InputError(
                f"class_sizes has the classes {sorted(map(str, class_sizes))} and the labels have "
                f"{sorted(map(str, names))}; give one size per class"
            )
        sizes = [check_real(f"size of class {c}", class_sizes[c], above=0.0) for c in names]
        return np.array(sizes) / np.sum(sizes)
    if isinstance(class_sizes, str) and class_sizes == "labels":
        return np.bincount(labels.code, minlength=n_classes) / n_labels
    if isinstance(class_sizes, str) and class_sizes == "auto":
        decided = np.bincount(scores.argmax(axis=1), minlength=n_classes) / max(len(scores), 1)
        return (n_labels * decided + 1) / (n_labels + n_classes)
    raise InputError(
        Parameter("class_sizes", class_sizes),
        " is not understood; give None, 'labels', 'auto' or a mapping from classes to sizes",
    )


def meet_sizes(scores, fractions, *, tol=1e-3, max_iter=300):
    """Scale scores (n, C) to unit deviation and add offsets that give the classes these sizes.

    Parameters
    ----------
    scores : array of shape (n, C)
    fractions : array of shape (C,)
    tol : float
        Largest difference of a class size, as a fraction of the nodes, at which to stop.
    max_iter : int
        Number of subgradient steps; the best offsets are returned.

    Examples
    --------
    >>> scores = np.array([[2.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.4, 0.0]])
    >>> np.bincount(meet_sizes(scores, np.array([0.5, 0.5])).argmax(axis=1))
    array([2, 2])
    """
    n_nodes, n_classes = scores.shape
    deviation = scores.std(axis=0)
    scores = scores / np.where(deviation > 0, deviation, 1.0)
    step = float(scores.std()) or 1.0
    offset = np.zeros(n_classes)
    best_offset = offset
    best_error = np.inf
    for iteration in range(max_iter):
        sizes = np.bincount((scores + offset).argmax(axis=1), minlength=n_classes)
        subgradient = fractions - sizes / n_nodes
        error = np.abs(subgradient).max()
        if error < best_error:
            best_offset = offset
            best_error = error
        # Half a node is as close as sizes can be.
        if best_error <= max(tol, 0.5 / n_nodes):
            break
        offset = offset + step * n_classes * subgradient / (1 + iteration / 20)
    return scores + best_offset


def cut_scores(
    graph, labels, scores, has_label, fractions, *, tol=0.01, max_cuts=12, random_state=None
):
    """Return scores of a cut with few edges between classes of these sizes.

    Parameters
    ----------
    graph : EdgeList
    labels : ClassLabels
    scores : array of shape (n_nodes, C)
        The first cut.
    has_label : array of bool, shape (n_nodes,)
        Which nodes are in a component with a label; the others are left out of the sizes.
    fractions : array of shape (C,)
    tol : float
        The cut has converged if at most this fraction of the nodes changes. The relative residual
        of the solves is a tenth of it.
    max_cuts : int
    random_state : int, Generator or None

    Returns
    -------
    ndarray of shape (n_nodes, C)
        Rows sum to zero.
    """
    labeled = labels.nodes
    n_classes = fractions.size
    degrees = graph.degrees()
    inertia = np.where(degrees > 0, degrees, 1.0) / DIFFUSION_TIME
    # F = D at labeled nodes, in the unit of the inertia.
    fidelity = DIFFUSION_TIME * inertia[labeled]
    ridge = inertia.copy()
    ridge[labeled] += fidelity
    source = np.zeros(scores.shape)
    source[labeled] = fidelity[:, None] * (labels.one_hot() - 1 / n_classes)
    solver = LaplacianSolver(
        graph,
        ridge=ridge,
        tol=tol / 10,
        n_solves=N_DIFFUSION_STEPS * max_cuts,
        random_state=random_state,
    )
    scores = scores.copy()
    sized = np.flatnonzero(has_label)
    code = scores.argmax(axis=1)
    for _ in range(max_cuts):
        code[labeled] = labels.code
        diffused = np.eye(n_classes)[code] - 1 / n_classes
        for _ in range(N_DIFFUSION_STEPS):
            diffused = solver.solve(inertia[:, None] * diffused + source, start=diffused)
        scores[sized] = meet_sizes(diffused[sized], fractions)
        previous = code
        code = scores.argmax(axis=1)
        if np.count_nonzero(code != previous) <= tol * code.size:
            break
    return scores - scores.mean(axis=1, keepdims=True)
