"""SkeGD: gradient descent on features from two sketches of the kernel matrix, updated in cycles.

Kernel gradient descent runs until there are `n_components` support points. These start two sketches
of the kernel matrix K of the points absorbed so far. With a sparse Johnson-Lindenstrauss transform
S_p and a selection S_m of at most s_m landmarks among the points,

    Phi_pm = S_p' K S_m,      Phi_pp = S_p' K S_p.

S_p has d entries +-1 / d^1/2 per row, one in each of d blocks of columns, so E S_p S_p' = I, and
<S_p'x, S_p'y> has variance at most (<x, y>^2 + |x|^2 |y|^2) / s_p. A new point with kernel values
psi to the others and rows s_p, s_m of the two matrices adds, with a = S_p' psi and c = S_m' psi,

    Phi_pm += s_p c' + a s_m' + k_tt s_p s_m',      Phi_pp += s_p a' + a s_p' + k_tt s_p s_p'.

Landmarks are sampled from the absorbed points by online leverage scores, and a full set drops a
tenth of its landmarks (`landmark_stream`). So s_m is a unit vector if the new point becomes a
landmark, and columns of Phi_pm are removed with their landmarks. F = Phi_pm^+ Phi_pp (Phi_pm')^+
makes C_m F C_m' an approximation of K. With Phi_pp ~ V_k diag(sig) V_k' of rank k
[ZL19, Section 1],

    z(x) = Q' k_landmarks(x),      Q = Phi_pm^+ V_k diag(sig)^1/2.

From then on SkeGD is gradient descent on z. In every `cycle`-th round the point is absorbed and Q
is computed again, after the prediction and before the step. The hypothesis moves to the new
features:

    transfer="paper"          w~ = f(x_t) z_new(x_t) / |z_new(x_t)|^2, exact at one point,
    transfer="least-squares"  w~ = argmin_w |Z_new w - Z_old w_old| over the `n_components` points
                              that were absorbed last,

followed by the step w = (1 - eta lam) w~ - eta l'(f(x_t)) z_new(x_t) [ZL19, Eq. 8 and 9].

Absorbed points are stored: memory is O(T / cycle), which is constant only if the cycle is
proportional to T. [ZL19] replaces |w|^2 = f^2 / |z|^2 by f^2 in its Eq. 17, which needs |z| >= 1.

References
----------
[ZL19] Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019,
       with its supplementary material.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from graphsqueak.kernel.kernels import Kernel
from graphsqueak.kernel.samplers.landmark_stream import LandmarkStream
from graphsqueak.online.gradient import (
    FeatureDescent,
    GradientLearner,
    KernelDescent,
    LandmarkFeatures,
)
from graphsqueak.online.losses import loss_slope
from graphsqueak.online.model import OnlineModel
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice, check_count

# Fractions of the largest singular value of Phi_pm below which singular values are ignored; the
# first that makes features short enough is used (`KernelSketch.feature_map`). All halved or
# doubled: the same errors at the default sizes of the sketches.
SINGULAR_VALUE_CUTOFFS = (1e-8, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3)
# Ridge of the least-squares transfer as a fraction of the trace. It keeps w short in directions in
# which no point has features. Halved or doubled: errors changed by 0.3 percentage points or less.
TRANSFER_RIDGE = 1e-5
# KORS samples a point with leverage score tau as a landmark with probability 1.5 * 8 tau. Halved or
# doubled: errors changed by 0.4 percentage points or less (four streams with two classes, 60
# support points, four seeds).
LANDMARK_BETA = 8.0


class SketchSizes(NamedTuple):
    """Sizes of the sketches: s_p, s_m, d, and the rank k of the features."""

    sketch_size: int
    n_landmarks: int
    n_blocks: int
    rank: int


@dataclass(kw_only=True, eq=False, repr=False)
class SkeGD(GradientLearner):
    """SkeGD, sketched gradient descent: for comparison with [ZL19]; otherwise use `CONKONS`.

    Rounds take O(n_landmarks * rank) time between the updates of the features.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As for `KernelOGD`.
    learning_rate, regularization : float
        Step size eta and regularization lam, before and after the sketches start.
    n_components : int
        B, the number of support points when the sketches start.
    sketch_size : int, optional
        s_p; default: 3 B / 2.
    n_landmarks : int, optional
        s_m, the largest number of landmarks; default: 3 B / 5.
    n_blocks : int, optional
        d, the number of entries per row of S_p; default: s_m / 10, at least 1.
    rank : int, optional
        k; default: B / 2.
    cycle : int
        Rounds between two updates of the features; floor(theta (T - B)) in [ZL19].
    transfer : {"least-squares", "paper"}
        How the hypothesis moves to new features.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of stored points and of rounds.

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

    def _make_model(self, kernel, n_features):
        check_choice("transfer", self.transfer, ("least-squares", "paper"))
        capacity = check_count("n_components", self.n_components)
        return SkeGDModel(
            KernelDescent(kernel, n_features, self._gradient_rule(), capacity=capacity),
            self._sizes(capacity),
            cycle=check_count("cycle", self.cycle),
            is_exact_at_one_point=self.transfer == "paper",
            rng=np.random.default_rng(self.random_state),
        )

    def _sizes(self, budget):
        """Check the sizes and replace those that are not given."""

        def size_or(name, default):
            value = getattr(self, name)
            return max(int(default), 1) if value is None else check_count(name, value)

        sketch_size = size_or("sketch_size", 3 * budget / 2)
        # More landmarks than support points cannot be sampled at the start.
        n_landmarks = min(size_or("n_landmarks", 3 * budget / 5), budget)
        return SketchSizes(
            sketch_size,
            n_landmarks,
            n_blocks=min(size_or("n_blocks", n_landmarks / 10), sketch_size),
            rank=size_or("rank", budget / 2),
        )


class SkeGDModel(OnlineModel):
    """The model of `SkeGD`: kernel gradient descent, then gradient descent on sketched features.

    Attributes
    ----------
    descent : KernelDescent or FeatureDescent
        The present hypothesis.
    sketch : KernelSketch or None
        The sketches, once `n_components` support points have been reached.
    """

    def __init__(self, descent, sizes, *, cycle, is_exact_at_one_point, rng):
        self.descent = descent
        self.sketch = None
        self._n_matched = descent.support.capacity
        self._kernel = descent.support.kernel
        self._sizes = sizes
        self._cycle = cycle
        self._is_exact_at_one_point = is_exact_at_one_point
        self._rng = rng
        self._n_since_update = 0
        # A ridge of 0 starts far below the first kernel value and grows to fit the capacity.
        self._landmarks = LandmarkStream(
            ridge=0.0,
            n_copies=LANDMARK_BETA,
            epsilon=0.5,
            form="paper",
            seed=int(rng.integers(2**63)),
            max_landmarks=sizes.n_landmarks,
            n_after=max(9 * sizes.n_landmarks // 10, 1),
            ridge_grows=True,
        )

    @property
    def n_support(self):
        """Number of stored points."""
        return self.descent.n_support if self.sketch is None else len(self.sketch.points)

    def scores(self, points):
        """Return f at the points, clipped."""
        return self.descent.scores(points)

    def features(self, points):
        """Return z(x); before there are sketches, coordinates in the span of the support points."""
        return self.descent.features(points)

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        predictions = []
        n_done = 0
        if self.sketch is None:
            predictions.append(self.descent.learn(points, targets))
            n_done = len(predictions[0])
            if self.descent.is_full:
                self._start_sketch()
        while n_done < len(points):
            # Rounds up to the one that updates the features, which is a round of its own.
            n_rounds = min(self._cycle - 1 - self._n_since_update, len(points) - n_done)
            rows = slice(n_done, n_done + n_rounds)
            predictions.append(self.descent.learn(points[rows], targets[rows]))
            n_done += n_rounds
            self._n_since_update += n_rounds
            if n_done < len(points):
                predictions.append(self.update_features(points[[n_done]], targets[n_done]))
                n_done += 1
        return np.concatenate(predictions)

    def update_features(self, point, target):
        """Run a round in which the point is absorbed and the features are computed again."""
        self._n_since_update = 0
        rule = self.descent.rule
        score = self.scores(point)
        # The values of the old hypothesis that the new one has to match.
        matched = np.concatenate([self.sketch.points[-self._n_matched :], point])
        values = self.scores(matched)
        self.sketch.absorb(point, landmarks=self._sample_landmarks(point))
        feature_map = self.sketch.feature_map(self._sizes.rank)
        z = feature_map(point)[0]
        if self._is_exact_at_one_point:
            # [ZL19, Eq. 8]
            w = score[0] * z / max(z @ z, np.finfo(np.float64).tiny)
        else:
            w = fit_values(feature_map(matched), values)
        # [ZL19, Eq. 9]
        step = rule.step_size * loss_slope(rule.loss, target, score[0])
        self.descent = FeatureDescent(feature_map, rule.shrinkage * w - step * z, rule)
        return score

    def _start_sketch(self):
        """Sketch the support points and move the hypothesis to the features."""
        points = self.descent.support.points
        self.sketch = KernelSketch(
            self._kernel,
            points,
            self._sample_landmarks(points),
            size=self._sizes.sketch_size,
            n_blocks=self._sizes.n_blocks,
            rng=self._rng,
        )
        feature_map = self.sketch.feature_map(self._sizes.rank)
        w = fit_values(feature_map(points), self.scores(points))
        self.descent = FeatureDescent(feature_map, w, self.descent.rule)

    def _sample_landmarks(self, points):
        """Offer the points to KORS; return the indices of all landmarks among absorbed points."""
        for block in self._landmarks.blocks(self._kernel, points):
            # The insertions happen while they are iterated over.
            for _ in block.insertions():
                pass
        return np.array(self._landmarks.rows)


def fit_values(z: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return w with z w close to the values, by ridge regression.

    >>> fit_values(np.eye(2), np.array([1.0, 2.0])).round(3)
    array([1., 2.])
    """
    gram = z.T @ z
    ridge = TRANSFER_RIDGE * np.trace(gram) + np.finfo(np.float64).tiny
    gram[np.diag_indices_from(gram)] += ridge
    return np.linalg.solve(gram, z.T @ values)


class KernelSketch:
    """The sketches Phi_pm and Phi_pp of the absorbed points.

    Parameters
    ----------
    kernel : Kernel
    points : ndarray
        The first points.
    landmarks : ndarray of int
        Indices of the first landmarks.
    size : int
        s_p.
    n_blocks : int
        d.
    rng : numpy Generator

    Attributes
    ----------
    points : ndarray
        The absorbed points.
    landmark_indices : ndarray of int
        Which of them are landmarks, in the order of the columns of Phi_pm.
    columns, signs : ndarray of shape (n, d)
        The nonzero entries of S_p, one row per point.
    pm, pp : ndarray
        Phi_pm and Phi_pp.
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
        self.kernel = kernel
        self.size = size
        self.n_blocks = n_blocks
        self.points = points
        self.landmark_indices = landmarks
        self._rng = rng
        self.columns, self.signs = sparse_signs(len(points), size, n_blocks, rng=rng)
        K = kernel(points, points)
        self.pm = self._sketch_rows(K[:, landmarks])
        # S_p' K S_p, from the symmetry of K.
        self.pp = self._sketch_rows(self._sketch_rows(K).T)

    @property
    def landmarks(self) -> np.ndarray:
        """The landmarks, in the order of the columns of Phi_pm."""
        return self.points[self.landmark_indices]

    def absorb(self, point: np.ndarray, *, landmarks: np.ndarray) -> None:
        """Add a point, given as a matrix with one row.

        `landmarks` are the indices of the landmarks after that, among the previous landmarks and
        the new point.
        """
        psi = self.kernel(self.points, point)
        k_tt = self.kernel.diag(point)[0]
        a = self._sketch_rows(psi)[:, 0]
        columns, signs = sparse_signs(1, self.size, self.n_blocks, rng=self._rng)
        s_p = np.zeros(self.size)
        s_p[columns[0]] = signs[0]
        # Phi_pm += s_p c', and a column a + k_tt s_p if the new point is a landmark.
        self.pm += np.outer(s_p, psi[self.landmark_indices, 0])
        with_new = np.column_stack([self.pm, a + k_tt * s_p])
        order = {index: i for i, index in enumerate(self.landmark_indices.tolist())}
        order[len(self.points)] = -1
        self.pm = with_new[:, [order[index] for index in landmarks.tolist()]]
        self.landmark_indices = landmarks
        # Phi_pp += s_p a' + a s_p' + k_tt s_p s_p'
        cross = np.outer(s_p, a)
        self.pp += cross + cross.T + k_tt * np.outer(s_p, s_p)
        self.points = np.concatenate([self.points, point])
        self.columns = np.concatenate([self.columns, columns])
        self.signs = np.concatenate([self.signs, signs])

    def feature_map(self, rank: int) -> LandmarkFeatures:
        """Return z(x) = Q' k_landmarks(x), Q with at most `rank` columns.

        Small singular values of Phi_pm are noise of the sketch. Their inverses would make features,
        and steps, much too long. The smallest cutoff is used for which |z(x)|^2 <= 2 k(x, x) at the
        hundred points that were absorbed last; for the kernel itself |phi(x)|^2 = k(x, x).
        """
        eigenvalues, V = np.linalg.eigh(self.pp)
        # Smaller eigenvalues are rounding errors.
        is_kept = eigenvalues > 1e-10 * max(eigenvalues[-1], 0.0)
        is_kept[: max(eigenvalues.size - rank, 0)] = False
        root = V[:, is_kept] * np.sqrt(eigenvalues[is_kept])
        U, singular, W = np.linalg.svd(self.pm, full_matrices=False)
        projected = U.T @ root
        recent = self.points[-100:]
        values = self.kernel(recent, self.landmarks)
        max_squared_norm = 2 * self.kernel.diag(recent)
        for cutoff in SINGULAR_VALUE_CUTOFFS:
            is_used = singular > cutoff * singular[0]
            inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=is_used)
            Q = W.T @ (inverse[:, None] * projected)
            if np.all(np.sum((values @ Q) ** 2, axis=1) <= max_squared_norm):
                break
        return LandmarkFeatures(self.kernel, self.landmarks, Q)

    def _sketch_rows(self, rows):
        """Return S_p' rows."""
        out = np.zeros((self.size, rows.shape[1]))
        for block in range(self.n_blocks):
            # `add.at` adds up rows that are mapped to the same column.
            np.add.at(out, self.columns[:, block], self.signs[:, block, None] * rows)
        return out


def sparse_signs(
    n_rows: int, n_columns: int, n_blocks: int, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw S_p: the columns and the values of its `n_blocks` entries per row.

    >>> columns, signs = sparse_signs(3, 6, 2, rng=np.random.default_rng(7))
    >>> columns.shape, np.abs(signs)[0].round(3), bool((columns[:, 0] < 3).all())
    ((3, 2), array([0.707, 0.707]), True)
    """
    # The columns of each block are consecutive.
    block_ends = np.linspace(0, n_columns, n_blocks + 1).astype(np.int64)
    columns = rng.integers(block_ends[:-1], block_ends[1:], size=(n_rows, n_blocks))
    signs = rng.choice((-1.0, 1.0), size=columns.shape) / np.sqrt(n_blocks)
    return columns, signs
