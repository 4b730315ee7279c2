"""SkeGD: gradient descent on a feature map that is sketched anew every so often.

Kernel gradient descent until `n_components` points are kept; these start the sketches (`sketches`).
From there on gradient descent on z(x) = Q'k_landmarks(x), and in every `cycle`-th round the point
is absorbed and Q built again. The hypothesis has to move to the new features:

    transfer="paper"         w <- f(x_t) z_new(x_t) / |z_new(x_t)|^2, right at one point [ZL19].
    transfer="least-squares" argmin_w |Z_new w - Z_old w_old| over the points that were kept first:
                             the whole hypothesis, as well as the new features can tell it.

The points absorbed must be stored: memory is O(T / cycle), constant only for a cycle in proportion
to T. [ZL19] replaces |w|^2 = f^2 / |z|^2 by f^2 in its Eq. 17; that needs |z| >= 1.

References
----------
[ZL19] Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019.
"""

import numpy as np

from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.gradient import Expansion, gradient_rounds, gradient_rule
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.sketches import KernelSketch
from graphsqueak.validation import check_choice, check_count

__all__ = ["SkeGD"]


class SkeGD(OnlineLearner):
    """Sketched gradient descent.

    Parameters
    ----------
    kernel, kernel_params, loss, clip, learning_rate, regularization
        As in `KernelOGD`.
    n_components : int
        B, the points kept before the sketches start.
    sketch_size : int, optional
        s_p; default: 3 B / 4.
    n_landmarks : int, optional
        s_m; default: s_p / 5.
    n_blocks : int, optional
        d, entries in a row of S_p; default: s_m / 10, at least 1.
    rank : int, optional
        k; default: B / 10.
    cycle : int
        Rounds between two updates of the features; the papers' floor(theta (T - B)).
    transfer : {"least-squares", "paper"}
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

    _needs_clip = False

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        loss="squared",
        clip=None,
        learning_rate=0.1,
        regularization=0.0,
        n_components=100,
        sketch_size=None,
        n_landmarks=None,
        n_blocks=None,
        rank=None,
        cycle=50,
        transfer="least-squares",
        random_state=None,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.clip = clip
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.n_components = n_components
        self.sketch_size = sketch_size
        self.n_landmarks = n_landmarks
        self.n_blocks = n_blocks
        self.rank = rank
        self.cycle = cycle
        self.transfer = transfer
        self.random_state = random_state

    @property
    def n_support_(self):
        return len(self._expansion.a) if self._sketch is None else len(self._sketch.points)

    def _begin(self, n_features):
        self._sizes()
        check_count("cycle", self.cycle)
        check_choice("transfer", self.transfer, ("least-squares", "paper"))
        rule = gradient_rule(self.loss, self.learning_rate, self.regularization, self._bound())
        self._expansion = Expansion(as_kernel(self.kernel, self.kernel_params), n_features, rule)
        self._rng = np.random.default_rng(self.random_state)
        self._sketch, self._since = None, 0

    def _sizes(self):
        """s_p, s_m, d, k."""
        budget = check_count("n_components", self.n_components)

        def chosen(name, default):
            value = getattr(self, name)
            return max(int(default), 1) if value is None else check_count(name, value)

        sketch_size = chosen("sketch_size", 3 * budget / 4)
        n_landmarks = min(chosen("n_landmarks", sketch_size / 5), budget)
        n_blocks = min(chosen("n_blocks", n_landmarks / 10), sketch_size)
        return sketch_size, n_landmarks, n_blocks, chosen("rank", budget / 10)

    def _scores(self, points):
        if self._sketch is None:
            return self._expansion.scores(points)
        return np.clip(self._embed(points) @ self._w, -self._bound(), self._bound())

    def _features_of(self, points):
        if self._sketch is None:
            return Embedding(self._expansion.kernel, self._expansion.points)(points)
        return self._embed(points)

    def _learn(self, points, targets):
        parts = []
        if self._sketch is None:
            parts.append(self._expansion.run(points, targets, budget=self.n_components))
            if len(self._expansion.a) == self.n_components:
                self._open_sketch()
        done = sum(map(len, parts))
        while done < len(points):
            some = slice(done, done + min(self.cycle - self._since, 1024))
            z = self._embed(points[some])
            parts.append(gradient_rounds(z, targets[some], self._w, self._expansion.rule))
            done += len(z)
            self._since += len(z)
            if self._since == self.cycle:
                self._renew(points[done - 1 : done])
        return np.concatenate(parts)

    def _open_sketch(self):
        sketch_size, n_landmarks, n_blocks, rank = self._sizes()
        kept = self._expansion.points
        landmarks = np.sort(self._rng.choice(len(kept), size=n_landmarks, replace=False))
        self._sketch = KernelSketch(
            self._expansion.kernel,
            kept,
            landmarks,
            size=sketch_size,
            n_blocks=n_blocks,
            rng=self._rng,
        )
        self._rank = rank
        self._map = self._sketch.map(rank)
        self._w = self._fitted(self._expansion.scores(kept))

    def _renew(self, point):
        """Absorb a point, build the features again, carry the hypothesis over."""
        self._since = 0
        old = self._scores(self._expansion.points if self.transfer != "paper" else point)
        self._sketch.absorb(point)
        self._map = self._sketch.map(self._rank)
        if self.transfer == "paper":
            z = self._embed(point)[0]
            self._w = old[0] * z / max(z @ z, np.finfo(np.float64).tiny)
        else:
            self._w = self._fitted(old)

    def _fitted(self, values):
        """w with z(x)'w closest to the values at the points kept first."""
        z = self._embed(self._expansion.points)
        return np.linalg.lstsq(z, values, rcond=1e-8)[0]

    def _embed(self, points):
        return self._expansion.kernel(points, self._sketch.landmarks) @ self._map
