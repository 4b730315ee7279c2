"""Slow, dense, obviously right versions of what the package computes fast."""

import numpy as np
import scipy.linalg


def resistances(graph, pairs):
    """r(u, v) = (1_u - 1_v)^T L^+ (1_u - 1_v) for every pair, by a dense pseudo-inverse."""
    pinv = np.linalg.pinv(graph.laplacian().toarray())
    tail, head = np.asarray(pairs).T
    return pinv[tail, tail] + pinv[head, head] - pinv[tail, head] - pinv[head, tail]


def shared_attributes(entity, attribute, weight, n_entities, normalize):
    """The weights between entities that share attributes, clique by clique, no pair repeated."""
    adjacency = np.zeros((n_entities, n_entities))
    for value in np.unique(attribute):
        column = np.zeros(n_entities)
        column[entity[attribute == value]] = weight[attribute == value]
        size = np.count_nonzero(column)
        if size > 1:
            strength = {"size": 1 / (size - 1), "none": 1.0, "idf": np.log(n_entities / size)}
            mean = column.sum() / size
            adjacency += strength[normalize] / mean * np.outer(column, column)
    np.fill_diagonal(adjacency, 0.0)
    return adjacency


def pseudo_solve(graph, b, ridge=0.0):
    """(L + diag(ridge))^+ b by a dense eigendecomposition.

    Component by component, so that tiny eigenvalues of one are not taken for zeros of another.
    """
    matrix = graph.laplacian().toarray() + np.diag(np.broadcast_to(ridge, graph.n_nodes))
    label = graph.components()
    x = np.zeros_like(b, dtype=np.float64)
    for component in range(label.max(initial=-1) + 1):
        nodes = np.flatnonzero(label == component)
        block = matrix[np.ix_(nodes, nodes)]
        singular = not np.broadcast_to(ridge, graph.n_nodes)[nodes].any()
        if singular:
            block = block + np.trace(block) / nodes.size + (np.trace(block) == 0)
        part = np.linalg.solve(block, b[nodes])
        x[nodes] = part - part.mean(axis=0) if singular else part
    return x


def pencil_condition(graph, sparsifier, ridge=0.0):
    """Largest over smallest ratio of x'(L_G + ridge)x to x'(L_H + ridge)x, equal components."""
    component = graph.components()
    same = (component[:, None] == component).astype(np.float64)
    singular = same @ np.broadcast_to(ridge, graph.n_nodes) == 0
    fill = same * graph.degrees().mean() / graph.n_nodes * singular
    fill += np.diag(np.broadcast_to(ridge, graph.n_nodes))
    values = scipy.linalg.eigh(
        graph.laplacian().toarray() + fill,
        sparsifier.laplacian().toarray() + fill,
        eigvals_only=True,
    )
    return max(values[-1], 1.0) / min(values[0], 1.0) if singular.any() else values[-1] / values[0]


def epsilon(graph, sparsifier, ridge=0.0):
    """The smallest eps with (1 - eps)(L_G + ridge) <= L_H + ridge <= (1 + eps)(L_G + ridge)."""
    component = graph.components()
    fill = (component[:, None] == component) * graph.degrees().mean() / graph.n_nodes
    fill += ridge * np.eye(graph.n_nodes)
    values = scipy.linalg.eigh(
        sparsifier.laplacian().toarray() + fill,
        graph.laplacian().toarray() + fill,
        eigvals_only=True,
    )
    return max(1 - values[0], values[-1] - 1)


def grounded_epsilon(graph, sparsifier):
    """The same for a connected graph whose weights span many decades.

    Without its first node L_G is an M-matrix, and its Cholesky factor is accurate entry by entry.
    """
    factor = np.linalg.cholesky(graph.laplacian().toarray()[1:, 1:])
    half = scipy.linalg.solve_triangular(
        factor, sparsifier.laplacian().toarray()[1:, 1:], lower=True
    )
    values = np.linalg.eigvalsh(scipy.linalg.solve_triangular(factor, half.T, lower=True))
    return max(1 - values[0], values[-1] - 1)


def stable_hfs(graph, labeled, targets, alpha, trust=1.0):
    """Stable-HFS by dense algebra: (Pi A Pi)^+ y~, A = alpha L + I_S, centered per component.

    I_S has the trust in the labels on its diagonal.
    """
    component = graph.components()
    same = (component[:, None] == component).astype(np.float64)
    project = np.eye(graph.n_nodes) - same / same.sum(axis=1)
    chosen = np.zeros(graph.n_nodes)
    chosen[labeled] = trust
    known = np.zeros((graph.n_nodes, targets.shape[1]))
    known[labeled] = targets
    count, total = (same @ chosen)[:, None], same @ (chosen[:, None] * known)
    everywhere = (chosen @ known) / chosen.sum()
    mean = np.where(count > 0, total / np.where(count > 0, count, 1), everywhere)
    reached = count.ravel() > 0
    matrix = alpha * graph.laplacian().toarray() + np.diag(chosen)
    centered = chosen[:, None] * (known - mean)
    scores = np.linalg.pinv(project @ matrix @ project, rcond=1e-12, hermitian=True) @ centered
    return np.where(reached[:, None], scores, 0.0), mean, reached


def harmonic(graph, labeled, targets):
    """Zhu's harmonic function by a dense solve; every component must hold a label."""
    rest = np.setdiff1d(np.arange(graph.n_nodes), labeled)
    laplacian = graph.laplacian().toarray()
    scores = np.zeros((graph.n_nodes, targets.shape[1]))
    scores[labeled] = targets
    inner = laplacian[np.ix_(rest, rest)]
    scores[rest] = np.linalg.solve(inner, -laplacian[np.ix_(rest, labeled)] @ targets)
    return scores


def diffused(graph, labeled, targets, start, tau, n_steps):
    """Columns after steps (D / tau + L + F) u = D / tau u + F y, F = D at labeled nodes."""
    degrees, held = np.diag(graph.degrees()), np.zeros((graph.n_nodes, graph.n_nodes))
    held[labeled, labeled] = graph.degrees()[labeled]
    matrix = degrees / tau + graph.laplacian().toarray() + held
    for _ in range(n_steps):
        start = np.linalg.solve(matrix, degrees @ start / tau + held[:, labeled] @ targets)
    return start


def kernel_leverage(K, ridge):
    """tau_i = [K (K + ridge I)^-1]_ii by a dense inverse."""
    return np.diag(K @ np.linalg.inv(K + ridge * np.eye(len(K))))


def dictionary_range(K, weights, ridge):
    """Extreme eigenvalues of C (I - diag(weights)) C, C = K^1/2 (K + ridge I)^-1/2."""
    lam, U = np.linalg.eigh(K)
    lam = np.maximum(lam, 0)
    C = U * np.sqrt(lam / (lam + ridge)) @ U.T
    values = np.linalg.eigvalsh(C * (1 - weights) @ C)
    return values[0], values[-1]


def online_newton(features, targets, *, slope, weight, alpha, clip, mask=None):
    """The online Newton step in R^d, with A held and inverted densely in every round.

    `slope(y, prediction)` is the derivative of the loss and `weight(y, prediction, slope)` what
    multiplies z z' in A; where `mask` is False the step does not enter A. Returns the predictions,
    the values before clipping, and w.
    """
    n_rounds, d = features.shape
    A, w = alpha * np.eye(d), np.zeros(d)
    predictions, raw = np.empty(n_rounds), np.empty(n_rounds)
    for t, (z, y) in enumerate(zip(features, targets, strict=True)):
        u = np.linalg.solve(A, z)
        raw[t] = z @ w
        predictions[t] = np.clip(raw[t], -clip, clip)
        w = w - (raw[t] - predictions[t]) / (z @ u) * u
        g = slope(y, predictions[t])
        if mask is None or mask[t]:
            A = A + weight(y, predictions[t], g) * np.outer(z, z)
        w = w - np.linalg.solve(A, g * z)
    return predictions, raw, w


def pros_n_kons(kernel, points, targets, inserted, *, loss, weight, alpha, clip, carry):
    """PROS-N-KONS as listed: eigenvectors at every reset, a dense solve in every round.

    `inserted[t]` says whether KORS adds point t, which then serves from round t + 1. With `carry`
    (CON-KONS) the hypothesis and the matrix are mapped to the new space instead of forgotten.
    """
    atoms, out = [], []
    to_atoms = np.zeros((0, 0))  # z = to_atoms' k_I
    w, A = np.zeros(0), np.zeros((0, 0))
    for t, (x, y) in enumerate(zip(points, targets, strict=True)):
        if t and inserted[t - 1]:
            atoms.append(t - 1)
            gram = kernel(points[atoms], points[atoms])
            lam, U = np.linalg.eigh(gram)
            new = U / np.sqrt(lam)
            P = new.T @ gram[:, :-1] @ to_atoms  # the old coordinates, seen from the new ones
            old_w, old_A, j = w, A, len(atoms)
            w, A = np.zeros(j), alpha * np.eye(j)
            if carry:
                w, A = P @ old_w, A + P @ (old_A - alpha * np.eye(j - 1)) @ P.T
            to_atoms = new
        z = to_atoms.T @ kernel(points[atoms], x[None])[:, 0] if atoms else np.zeros(0)
        raw = z @ w
        prediction = np.clip(raw, -clip, clip)
        out.append(prediction)
        if not atoms:
            continue
        u = np.linalg.solve(A, z)
        w = w - (raw - prediction) / (z @ u) * u
        g = float(loss(y, prediction))
        A = A + weight(y, prediction, g) * np.outer(z, z)
        w = w - np.linalg.solve(A, g * z)
    return np.array(out)
