"""SkeGD: gradient descent on a feature map that is sketched anew every so often.

Kernel gradient descent until `n_components` points are kept; these start two sketches of the kernel
matrix K of the points absorbed so far. With S_p a sparse Johnson-Lindenstrauss transform and S_m
the choice of at most s_m landmarks among them,

    Phi_pm = S_p' K S_m,      Phi_pp = S_p' K S_p.

S_p has d entries +-1 / d^1/2 in a row, one in each of d blocks of columns: E S_p S_p' = I, and
<S_p'x, S_p'y> has the variance at most (<x, y>^2 + |x|^2 |y|^2) / s_p. A new point with values psi
to the others and rows s_p, s_m of the two adds, with a = S_p' psi and c = S_m' psi,

    Phi_pm += s_p c' + a s_m' + k_tt s_p s_m',      Phi_pp += s_p a' + a s_p' + k_tt s_p s_p'.

Landmarks are chosen from the absorbed points by online leverage, and a full set lets a tenth of
them go (`landmark_stream`): so s_m is a unit vector when the new point becomes a landmark, and
columns of Phi_pm go with the landmarks that do. F = Phi_pm^+ Phi_pp (Phi_pm')^+ makes C_m F C_m' an
approximation of K; with Phi_pp ~ V_k diag(sig) V_k' of rank k,

    z(x) = Q' k_landmarks(x),      Q = Phi_pm^+ V_k diag(sig)^1/2           [ZL19, Section 1].

From there on it is gradient descent on z, and in every `cycle`-th round the point is absorbed and Q
built again, after the prediction and before the step. The hypothesis moves to the new features:

    transfer="paper"         w~ = f(x_t) z_new(x_t) / |z_new(x_t)|^2, right at one point,
    transfer="least-squares" w~ = argmin_w |Z_new w - Z_old w_old| over the points absorbed last, as
                             many as were kept first: the hypothesis, as far as z_new can tell it,

and takes its step there, w = (1 - eta lam) w~ - eta l'(f(x_t)) z_new(x_t) [ZL19, Eq. 8 and 9].

The points absorbed must be stored: memory is O(T / cycle), constant only for a cycle in proportion
to T. [ZL19] replaces |w|^2 = f^2 / |z|^2 by f^2 in its Eq. 17; that needs |z| >= 1.

References
----------
[ZL19] Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019,
       with its supplementary material.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import Kernel
from graphsqueak.kernel.samplers.landmark_stream import LandmarkStream
from graphsqueak.online.gradient import FEATURE_BLOCK, GradientLearner, gradient_rounds
from graphsqueak.online.losses import loss_slope
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice, check_count

__all__ = ["KernelSketch", "SkeGD", "sparse_signs"]

_CUTS = (1e-8, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3)  # of the largest singular value of Phi_pm
_PROBES = 100
_SHORT = 1e-5  # ridge of a transfer, over the trace: directions that no point shows stay short
_COINS = 8.0  # beta: a point of score tau becomes a landmark with chance 12 tau, at most 1


@dataclass(kw_only=True, eq=False, repr=False)
class SkeGD(GradientLearner):
    """Sketched gradient descent.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As in `KernelOGD`.
    learning_rate, regularization : float
        eta and lam, before the sketches start and after.
    n_components : int
        B, the points kept before the sketches start.
    sketch_size : int, optional
        s_p; default: 3 B / 2.
    n_landmarks : int, optional
        s_m, the most landmarks; default: 3 B / 5.
    n_blocks : int, optional
        d, entries in a row of S_p; default: s_m / 10, at least 1.
    rank : int, optional
        k; default: B / 2.
    cycle : int
        Rounds between two updates of the features; the papers' floor(theta (T - B)).
    transfer : {"least-squares", "paper"}
        How the hypothesis moves to new features: as a whole, or right at one point.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points stored, and rounds so far.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = SkeGD(loss="hinge", n_components=40, cycle=50, random_state=7)
    >>> m.fit(X, np.sign(X[:, 0])).score(X, np.sign(X[:, 0])) > 0.85
    True
    """

    n_components: int = 100
    sketch_size: int | None = None
    n_landmarks: int | None = None
    n_blocks: int | None = None
    rank: int | None = None
    cycle: int = 50
    transfer: Literal["least-squares", "paper"] = "least-squares"
    random_state: RandomState = None

    def _n_kept(self):
        return len(self._expansion.a) if self._sketch is None else len(self._sketch.points)

    def _begin(self, n_features):
        self._sizes()
        check_count("cycle", self.cycle)
        check_choice("transfer", self.transfer, ("least-squares", "paper"))
        self._expansion = self._new_expansion(n_features)
        self._rng = np.random.default_rng(self.random_state)
        self._sketch, self._since = None, 0
        n_landmarks = self._sizes()[1]
        self._chooser = LandmarkStream(
            ridge=0.0,
            n_copies=_COINS,
            epsilon=0.5,
            form="paper",
            seed=int(self._rng.integers(2**63)),
            max_landmarks=n_landmarks,
            n_after=max(9 * n_landmarks // 10, 1),
            ridge_grows=True,
        )

    def _sizes(self):
        """s_p, s_m, d, k."""
        budget = check_count("n_components", self.n_components)

        def chosen(name, default):
            value = getattr(self, name)
            return max(int(default), 1) if value is None else check_count(name, value)

        sketch_size = chosen("sketch_size", 3 * budget / 2)
        n_landmarks = min(chosen("n_landmarks", 3 * budget / 5), budget)
        n_blocks = min(chosen("n_blocks", n_landmarks / 10), sketch_size)
        return sketch_size, n_landmarks, n_blocks, chosen("rank", budget / 2)

    def _scores(self, points):
        if self._sketch is None:
            return self._expansion.scores(points)
        return np.clip(self._embed(points) @ self._w, -self._bound(), self._bound())

    def _features_of(self, points):
        if self._sketch is None:
            return NystromEmbedding(self._expansion.kernel, self._expansion.points)(points)
        return self._embed(points)

    def _learn(self, points, targets):
        parts = []
        if self._sketch is None:
            parts.append(self._expansion.run(points, targets, budget=self.n_components))
            if len(self._expansion.a) == self.n_components:
                self._open_sketch()
        done = sum(map(len, parts))
        while done < len(points):
            n = min(self.cycle - 1 - self._since, FEATURE_BLOCK, len(points) - done)
            some = slice(done, done + n)
            z = self._embed(points[some])
            parts.append(gradient_rounds(z, targets[some], self._w, self._expansion.rule))
            done += n
            self._since += n
            if self._since == self.cycle - 1 and done < len(points):
                parts.append(self._renew(points[done : done + 1], targets[done]))
                done += 1
        return np.concatenate(parts)

    def _open_sketch(self):
        sketch_size, _, n_blocks, rank = self._sizes()
        kept = self._expansion.points
        self._sketch = KernelSketch(
            self._expansion.kernel,
            kept,
            self._landmarks_with(kept),
            size=sketch_size,
            n_blocks=n_blocks,
            rng=self._rng,
        )
        self._rank = rank
        self._map = self._sketch.feature_map(rank)
        self._w = self._fit_values(kept, self._expansion.scores(kept))

    def _landmarks_with(self, points):
        """Which of the points absorbed, these among them, are landmarks from now on."""
        for block in self._chooser.blocks(self._expansion.kernel, points):
            for _ in block.insertions():
                pass
        return np.array(self._chooser.rows)

    def _renew(self, point, target):
        """A round in which the point is absorbed and the features are built again."""
        self._since, rule = 0, self._expansion.rule
        score = self._scores(point)
        some = np.concatenate([self._sketch.points[-self.n_components :], point])
        values = self._scores(some)
        self._sketch.absorb(point, landmarks=self._landmarks_with(point))
        self._map = self._sketch.feature_map(self._rank)
        z = self._embed(point)[0]
        if self.transfer == "paper":
            w = score[0] * z / max(z @ z, np.finfo(np.float64).tiny)
        else:
            w = self._fit_values(some, values)
        self._w = rule.shrink * w - rule.step * loss_slope(rule.loss, target, score[0]) * z
        return score

    def _fit_values(self, points, values):
        """w with z(x)'w closest to the values at the points, and short where they say little."""
        z = self._embed(points)
        gram = z.T @ z
        gram[np.diag_indices_from(gram)] += _SHORT * np.trace(gram) + np.finfo(np.float64).tiny
        return np.linalg.solve(gram, z.T @ values)

    def _embed(self, points):
        return self._expansion.kernel(points, self._sketch.landmarks) @ self._map


class KernelSketch:
    """The two sketches of the points absorbed.

    Parameters
    ----------
    kernel : object with k(X, Y)
    points : ndarray
        The first points, all absorbed.
    landmarks : ndarray of int
        Which of them are landmarks, at first.
    size : int
        s_p.
    n_blocks : int
        d.
    rng : numpy Generator
    """

    def __init__(
        self,
        kernel: Kernel,
        points: np.ndarray,
        landmarks: np.ndarray,
        *,
        size: int,
        n_blocks: int,
        rng: np.random.Generator,
    ) -> None:
        self.kernel, self.rng, self.size, self.n_blocks = kernel, rng, size, n_blocks
        self.points, self.rows = points, landmarks
        self._column, self._value = sparse_signs(len(points), size, n_blocks, rng=rng)
        K = kernel(points, points)
        self.pm = self._sketch(K[:, landmarks])
        self.pp = self._sketch(self._sketch(K).T)

    @property
    def landmarks(self) -> np.ndarray:
        """The landmarks, in the order of the columns of Phi_pm."""
        return self.points[self.rows]

    def absorb(self, point: np.ndarray, *, landmarks: np.ndarray | None = None) -> None:
        """Take in one more point (a matrix of one row).

        `landmarks` are the row numbers of the landmarks from then on, the new point's among them if
        it is one; they may be fewer than before.
        """
        psi = self.kernel(self.points, point)
        a, diagonal = self._sketch(psi)[:, 0], self.kernel.diag(point)[0]
        column, value = sparse_signs(1, self.size, self.n_blocks, rng=self.rng)
        s = np.zeros(self.size)
        s[column[0]] = value[0]
        self.pm += np.outer(s, psi[self.rows, 0])
        cross = np.outer(s, a)
        self.pp += cross + cross.T + diagonal * np.outer(s, s)
        if landmarks is not None:
            self._choose(landmarks, a + diagonal * s)
        self.points = np.concatenate([self.points, point])
        self._column = np.concatenate([self._column, column])
        self._value = np.concatenate([self._value, value])

    def _choose(self, landmarks, newest):
        """Other landmarks, of those that are and the newest point, whose column is given."""
        columns = np.column_stack([self.pm, newest])
        place = {row: i for i, row in enumerate(self.rows.tolist())} | {len(self.points): -1}
        self.pm = columns[:, [place[row] for row in landmarks.tolist()]]
        self.rows = landmarks

    def feature_map(self, rank: int) -> np.ndarray:
        """Q, with at most `rank` columns.

        Small singular values of Phi_pm are noise of the sketch, and their inverses would make
        features, and steps, far too long: as many are left out as it takes to have |z(x)|^2 at
        most 2 k(x, x), as a kernel would have it, at the points absorbed last.
        """
        sig, V = np.linalg.eigh(self.pp)
        good = sig > 1e-10 * max(sig[-1], 0.0)
        good[: max(sig.size - rank, 0)] = False
        U, singular, W = np.linalg.svd(self.pm, full_matrices=False)
        root = U.T @ (V[:, good] * np.sqrt(sig[good]))
        some = self.points[-_PROBES:]
        values, longest = self.kernel(some, self.landmarks), 2 * self.kernel.diag(some)
        for cut in _CUTS:
            inverse = np.where(singular > cut * singular[0], 1 / np.maximum(singular, 1e-300), 0.0)
            Q = W.T @ (inverse[:, None] * root)
            z = values @ Q
            if np.all(np.einsum("ij,ij->i", z, z) <= longest):
                break
        return Q

    def _sketch(self, rows):
        """S_p' rows."""
        out = np.zeros((self.size, rows.shape[1]))
        for block in range(self.n_blocks):
            np.add.at(out, self._column[:, block], self._value[:, block, None] * rows)
        return out


def sparse_signs(
    n_rows: int, n_columns: int, n_blocks: int, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the entries of S_p, `n_blocks` in each row.

    >>> column, value = sparse_signs(3, 6, 2, rng=np.random.default_rng(7))
    >>> column.shape, np.abs(value)[0].round(3), bool((column[:, 0] < 3).all())
    ((3, 2), array([0.707, 0.707]), True)
    """
    edges = np.linspace(0, n_columns, n_blocks + 1).astype(np.int64)
    column = rng.integers(edges[:-1], edges[1:], size=(n_rows, n_blocks))
    value = rng.choice((-1.0, 1.0), size=column.shape) / np.sqrt(n_blocks)
    return column, value
