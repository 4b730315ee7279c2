"""Slow, dense, obviously right versions of what the package computes fast."""

import numpy as np
import scipy.linalg
import scipy.stats


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


def thesis_chain(edges, n_nodes, *, n_copies, block, generators):
    """Algorithm 11 of the thesis, corrected, edge by edge with a dense pseudo-inverse.

    `edges` are triples (u, v, a). `generators` gives the random generator of each resparsification;
    the last one makes the result. Returns the weights of H by edge number, and the probabilities.
    """
    kept = {}  # edge number -> [p, q]
    n_after = 0

    def resparsify():
        laplacian = np.zeros((n_nodes, n_nodes))
        for e, (p, q) in kept.items():
            u, v, a = edges[e]
            step = np.zeros(n_nodes)
            step[u], step[v] = 1.0, -1.0
            laplacian += a * q / (n_copies * p) * np.outer(step, step)
        inverse = np.linalg.pinv(laplacian, hermitian=True)
        rng = next(generators)
        for e, (old, q) in list(kept.items()):
            u, v, a = edges[e]
            resistance = inverse[u, u] + inverse[v, v] - 2 * inverse[u, v]
            p = min(old, 1.0, a * resistance)  # a is the weight in G, the resistance that of H
            q = rng.binomial(q, p / old)
            kept[e] = [p, q]
            if q == 0:
                del kept[e]

    for number in range(len(edges)):
        kept[number] = [1.0, n_copies]
        if len(kept) >= max(block, 2 * n_after):
            resparsify()
            n_after = len(kept)
    resparsify()
    weights = {e: edges[e][2] * q / (n_copies * p) for e, (p, q) in kept.items()}
    return weights, {e: p for e, (p, _) in kept.items()}


def stable_hfs(graph, labeled, targets, alpha, sample_weight=1.0):
    """Stable-HFS by dense algebra: (Pi A Pi)^+ y~, A = alpha L + I_S, centered per component.

    I_S has the sample weights on its diagonal.
    """
    component = graph.components()
    same = (component[:, None] == component).astype(np.float64)
    project = np.eye(graph.n_nodes) - same / same.sum(axis=1)
    chosen = np.zeros(graph.n_nodes)
    chosen[labeled] = sample_weight
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


def squeak_merge(parts, *, n_copies, ridge, epsilon, rng):
    """The loop of SQUEAK [C17, Algorithm 10], lines 7 to 14, with explicit features.

    A part is (features, p, q, is_exact). The factor (1 - epsilon) and the ridge (1 + epsilon) ridge
    are those of two inexact parts; k inexact parts have (1 + (k - 1) epsilon) ridge, and exact
    parts alone need neither. Returns p and q of all atoms, those without copies included.
    """
    n_inexact = sum(not is_exact for *_, is_exact in parts)
    features = np.concatenate([part[0] for part in parts])
    p = np.concatenate([part[1] for part in parts])
    q = np.concatenate([part[2] for part in parts])
    covariance = np.zeros((features.shape[1], features.shape[1]))
    for phi, p_i, q_i in zip(features, p, q, strict=True):
        covariance += q_i / (n_copies * p_i) * np.outer(phi, phi)
    factor = 1 - epsilon if n_inexact else 1.0
    widened = (1 + max(n_inexact - 1, 0) * epsilon) * ridge
    inverse = np.linalg.inv(covariance + widened * np.eye(len(covariance)))
    new_p = np.empty(len(p))
    new_q = np.empty(len(p), dtype=np.int64)
    for i, phi in enumerate(features):
        tau = factor * phi @ inverse @ phi  # line 9
        new_p[i] = min(tau, p[i])  # line 10
        new_q[i] = rng.binomial(q[i], new_p[i] / p[i])  # line 11
    return new_p, new_q


def kors(features, uniforms, *, n_copies, ridge, epsilon, form):
    """KORS [C17, Algorithm 8] or [CLV17c, Algorithm 2] with explicit features.

    `uniforms[t]` decides point t: the quantile of its binomial, or one coin. Returns the rows that
    are kept and their weights.
    """
    rows, weights = [], []
    covariance = ridge * np.eye(features.shape[1])
    for t, (phi, uniform) in enumerate(zip(features, uniforms, strict=True)):
        tau = phi @ np.linalg.inv(covariance + np.outer(phi, phi)) @ phi
        if form == "thesis":
            p = (1 - epsilon) * tau  # line 5
            copies = int(scipy.stats.binom.ppf(uniform, n_copies, p))  # line 7
            weight = copies / (n_copies * p)
        else:
            p = min(1.0, n_copies * (1 + epsilon) * tau)
            weight = 1 / p if uniform > 1 - p else 0.0
        if weight:
            rows.append(t)
            weights.append(weight)
            covariance += weight * np.outer(phi, phi)
    return np.array(rows), np.array(weights)


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


def laplacian_ratios(graph, sparsifier, ridge=0.0):
    """Eigenvalues of (L_H + ridge) x = lambda (L_G + ridge) x, ascending, for any weights.

    They are the squared singular values of W_H^(1/2) B_H X with the X of `whitening`. Only the
    differences B_H X cancel, which costs the square root of the ratio of two weights: extended
    precision makes up for that.
    """
    X = whitening(graph, ridge)
    weight = _weights(sparsifier, ridge)
    tail, head = np.nonzero(np.triu(weight))
    rows = np.sqrt(weight[tail, head])[:, None] * (X[tail] - X[head])
    rows = np.vstack([rows, np.zeros((X.shape[1], X.shape[1]))])  # a tree has fewer rows
    return np.linalg.svd(rows.astype(np.float64), compute_uv=False)[::-1] ** 2


def energy_norm(graph, residual, ridge=0.0):
    """sqrt(trace(R' (L + ridge)^+ R)) for the columns of R, which has a solution."""
    X = whitening(graph, ridge)[: graph.n_nodes]
    return float(np.sqrt(((X.T @ residual) ** 2).sum()))


def whitening(graph, ridge=0.0):
    """X with X X' = (L + ridge)^+, up to constants on components, accurate for any weights.

    The ridge is an additional node joined to all others. L = U' D U is found by Gaussian
    elimination without subtractions (Grassmann, Taksar and Heyman 1985): every pivot is the sum of
    the weights that are left at a node, so that every entry of U and D is accurate to rounding. So
    are those of U^-1, which are not negative, and X = U^-1 D^(-1/2).
    """
    left = _weights(graph, ridge)
    n_nodes = len(left)
    pivot = np.zeros(n_nodes, dtype=np.longdouble)
    upper = np.zeros_like(left)
    for k in range(n_nodes):
        pivot[k] = left[k].sum()
        if pivot[k] > 0:  # else the last node of its component
            upper[k] = left[k] / pivot[k]
            left += np.outer(left[k], upper[k])
            left[k] = left[:, k] = 0
            np.fill_diagonal(left, 0)
    free = pivot > 0
    inverse = np.zeros_like(left)
    for k in np.flatnonzero(free)[::-1]:
        inverse[k] = upper[k] @ inverse
        inverse[k, k] = 1
    inverse -= inverse[-1] if ridge > 0 else 0
    return inverse[:, free] / np.sqrt(pivot[free])


def _weights(graph, ridge):
    """Weights between all nodes, the last of which stands for the ridge, if there is one."""
    n_nodes = graph.n_nodes + (ridge > 0)
    weight = np.zeros((n_nodes, n_nodes), dtype=np.longdouble)
    np.add.at(weight, (graph.tail, graph.head), graph.weight)
    weight += weight.T
    if ridge > 0:
        weight[-1] = weight[:, -1] = ridge
    np.fill_diagonal(weight, 0)
    return weight
