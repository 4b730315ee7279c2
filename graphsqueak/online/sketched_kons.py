"""Sketched-KONS: KONS in which only sampled steps enter the matrix.

    A~_t = A~_{t-1} + z_t h_t phi_t phi_t',    z_t ~ Bernoulli(p_t),
    p_t = max(min(1, beta (1 + e) tau~_t), floor),

tau~_t the score of KORS on the kernel d_i d_j k_ij with ridge alpha, known once the slope is. The
coefficients are those of KONS (`kons`) with z_i h_i in place of h_i: the term h y^ enters only when
z = 1, which [C17, Lemma 5.5] and [CLV17c, Lemma 4] omit. One number decides both draws, so the
atoms of KORS are among the chosen. A round is O(t) kernel evaluations and O(chosen^2); regret is at
most that of KONS over (1 - e) max(floor, min tau).

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017, Section 5.2.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

import numpy as np

from graphsqueak.kernel.kors import OnlineSampler
from graphsqueak.online.kons import KONS
from graphsqueak.randomness import uniforms
from graphsqueak.validation import check_real

__all__ = ["SketchedKONS"]


class SketchedKONS(KONS):
    """Sketched KONS; parameters and attributes of `KONS`, and:

    beta : float
        Budget of KORS: a step of score tau enters with chance beta (1 + epsilon) tau, at most 1.
    floor : float
        Least chance of any step; 1 is KONS.
    epsilon : float
        Accuracy assumed of the dictionary of KORS.
    random_state : int, numpy Generator or None
    n_chosen_ : int
        Steps in the matrix.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> m = SketchedKONS(beta=2.0, floor=0.05, random_state=7).fit(X, X[:, 0] ** 2)
    >>> m.n_support_, m.n_chosen_ < 50
    (100, True)
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        loss="squared",
        clip=1.0,
        alpha=1.0,
        eta="auto",
        beta=1.0,
        floor=0.0,
        epsilon=0.5,
        random_state=None,
    ):
        super().__init__(
            kernel=kernel, kernel_params=kernel_params, loss=loss, clip=clip, alpha=alpha, eta=eta
        )
        self.beta = beta
        self.floor = floor
        self.epsilon = epsilon
        self.random_state = random_state

    @property
    def n_chosen_(self):
        return len(self._state.chosen)

    def _begin(self, n_features):
        super()._begin(n_features)
        self._sampler = OnlineSampler(
            ridge=self._state.alpha,
            n_copies=check_real("beta", self.beta, above=0.0),
            epsilon=check_real("epsilon", self.epsilon, above=0.0, below=1.0),
            form="paper",
        )
        self._floor = check_real("floor", self.floor, least=0.0)
        self._seed = int(np.random.default_rng(self.random_state).integers(2**63))
        self._atoms, self._atom_roots = np.zeros(0, np.int64), np.zeros(0)

    def _round(self, row, diagonal, target):
        state = self._state
        (draw,) = uniforms(self._seed, state.n_rounds, state.n_rounds + 1)

        def select(h):
            root = np.sqrt(h)
            scaled = root * self._atom_roots * row[self._atoms]
            atom = self._sampler.offer(scaled, h * diagonal, uniform=draw) > 0
            if atom:
                self._atoms = np.append(self._atoms, row.size)
                self._atom_roots = np.append(self._atom_roots, root)
            return atom or draw > 1 - self._floor

        return state.round(row, diagonal, target, select=select)
