"""Projectron and Projectron++: perceptrons that project points on the span of the support points.

After a mistake, y f(x) <= 0, a perceptron adds y k(x, .) to f. If x lies within `threshold` = e of
the span of the support points, |k(x, .) - P k(x, .)| <= e, or if there are B support points, the
projection y P k(x, .) is added instead and x does not become one [OKC09, Algorithm 2]. In
coordinates of the span, z(x) = L^-1 k_I(x) with L L' = K_II,

    P k(x, .) = z(x),      |k(x, .) - P k(x, .)|^2 = d^2 = k_xx - z'z,      f(x) = w'z(x).

The update is w <- w + y z, and if x becomes a support point, L gains the row (z', d) and w the
entry y d.

Projectron++ also updates for small margins [OKC09, Algorithm 3]: if 0 < y f(x) < 1 and the loss
l = 1 - y f(x) exceeds d / e, it adds t y z with t = min(1, l / |z|^2, 2 (l - d / e) / |z|^2).

References
----------
[OKC09] Orabona, Keshet, Caputo. Bounded kernel-based online learning. JMLR 10, 2009.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphsqueak.kernel.cholesky import GrowingCholesky
from graphsqueak.kernel.kernels import POINTS_PER_BLOCK, Kernel
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.model import OnlineModel
from graphsqueak.online.newton import SPAN_TOLERANCE
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_count, check_real


@dataclass(kw_only=True, eq=False, repr=False)
class Projectron(OnlineLearner):
    """Projectron: a baseline with a budget that keeps few support points.

    Use it to compare with a perceptron that loses no direction of its support points. After a
    mistake, points near their span are projected on it.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge" and None; updates follow mistakes.
    clip : float or None
        Bound of the scores that are returned.
    n_components : int
        B, the largest number of support points; then all points are projected.
    threshold : float
        e, the distance from the span up to which a point is projected. The first point becomes a
        support point in any case.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.
    components_ : ndarray
        The support points.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = Projectron(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.9
    (True, True)
    """

    clip: float | None = None
    loss: Literal["hinge"] = "hinge"
    n_components: int = 100
    threshold: float = 0.1

    _uses_margins = False

    @property
    def components_(self) -> np.ndarray:
        """The support points."""
        return self.models_[0].points

    def _make_model(self, kernel, n_features):
        self._require_loss("hinge")
        return ProjectronModel(
            kernel,
            n_features,
            capacity=check_count("n_components", self.n_components),
            threshold=check_real("threshold", self.threshold, least=0.0),
            uses_margins=self._uses_margins,
            clip=self._clip(),
        )


class ProjectronPP(Projectron):
    """Projectron++: a Projectron that also learns from small margins, with fewer mistakes.

    Use it to compare with a perceptron that learns from margins.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge" and None.
    clip : float or None
        Bound of the scores that are returned.
    n_components : int
        B, the largest number of support points; then all points are projected.
    threshold : float
        e > 0. Mistakes within this distance of the span are projected, and there is an update for a
        small margin if its loss exceeds the distance divided by e.

    Attributes
    ----------
    n_support_, n_rounds_, components_
        As for `Projectron`.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = ProjectronPP(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.9
    (True, True)
    """

    _uses_margins = True

    def _make_model(self, kernel, n_features):
        check_real("threshold", self.threshold, above=0.0)
        return super()._make_model(kernel, n_features)


class ProjectronModel(OnlineModel):
    """The model of `Projectron` and `ProjectronPP`: f = w'z."""

    def __init__(
        self,
        kernel: Kernel,
        n_features: int,
        *,
        capacity: int,
        threshold: float,
        uses_margins: bool,
        clip: float,
    ) -> None:
        self.kernel = kernel
        self.threshold = threshold
        self.uses_margins = uses_margins
        self.clip = clip
        self._factor = GrowingCholesky()
        self._points = np.empty((capacity, n_features))
        self._w = np.zeros(capacity)

    @property
    def n_support(self):
        """Number of support points."""
        return self._factor.size

    @property
    def points(self):
        """The support points."""
        return self._points[: self.n_support]

    def scores(self, points):
        """Return f at the points, clipped."""
        values = self.features(points) @ self._w[: self.n_support]
        return np.clip(values, -self.clip, self.clip)

    def features(self, points):
        """Return z of every point."""
        if self.n_support == 0:
            return np.zeros((len(points), 0))
        return self._factor.solve(self.kernel(self.points, points)).T

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        out = np.empty(len(points))
        for start in range(0, len(points), POINTS_PER_BLOCK):
            rows = slice(start, start + POINTS_PER_BLOCK)
            self._learn_block(points[rows], targets[rows], out[rows])
        return np.clip(out, -self.clip, self.clip)

    def _learn_block(self, points, targets, out):
        size = self.n_support
        # Columns for the coordinates that the block may add.
        features = np.zeros((len(points), min(size + len(points), len(self._points))))
        features[:, :size] = self.features(points)
        diagonal = np.array(self.kernel.diag(points), dtype=np.float64)
        n_done = 0
        while n_done < len(points):
            n_done += _rounds(
                features[n_done:],
                diagonal[n_done:],
                targets[n_done:],
                self._w,
                self.n_support,
                self.threshold,
                self.uses_margins,
                self.n_support < len(self._points),
                out[n_done:],
            )
            if n_done < len(points):
                # The rounds stopped before the update for this point.
                self._add_support_point(points, features, diagonal, n_done, targets[n_done])
                n_done += 1

    def _add_support_point(self, points, features, diagonal, t, target):
        """Make point t of the block a support point, and extend the features of later points."""
        j = self.n_support
        z = features[t, :j].copy()
        distance = np.sqrt(diagonal[t] - z @ z)
        self._points[j] = points[t]
        # k(x, .) has the coordinates (z, d) in the larger span.
        self._w[:j] += target * z
        self._w[j] = target * distance
        self._factor.append(z, distance)
        # The new coordinate of later points of the block.
        if t + 1 < len(points):
            values = self.kernel(points[t : t + 1], points[t + 1 :])[0]
            features[t + 1 :, j] = (values - features[t + 1 :, :j] @ z) / distance


@njit_cached(fastmath={"reassoc", "contract"})
def _rounds(features, diagonal, targets, w, size, threshold, uses_margins, has_capacity, out):
    """Run rounds in `size` coordinates until a point must become a support point.

    Returns the number of rounds that were run.
    """
    for t in range(targets.size):
        value = 0.0
        norm = 0.0
        for i in range(size):
            value += w[i] * features[t, i]
            norm += features[t, i] ** 2
        out[t] = value
        squared_distance = diagonal[t] - norm
        if squared_distance <= SPAN_TOLERANCE * diagonal[t]:
            squared_distance = 0.0
        margin = targets[t] * value
        step = 0.0
        if margin <= 0:
            # Without support points, any point of positive length becomes one.
            limit = threshold**2 if size else 0.0
            if has_capacity and squared_distance > limit:
                return t
            step = 1.0
        elif uses_margins and margin < 1 and norm > 0:
            loss = 1.0 - margin
            # [OKC09, Algorithm 3]
            surplus = loss - np.sqrt(squared_distance) / threshold
            if surplus > 0:
                step = min(1.0, loss / norm, 2.0 * surplus / norm)
        if step > 0:
            # w <- w + t y z
            for i in range(size):
                w[i] += step * targets[t] * features[t, i]
    return targets.size
