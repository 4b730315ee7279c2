"""KORS: a dictionary from a stream, one look at each point, insertions only.

See `online_sampler` for a step and `atom_stream` for blocks of points, which give the same atoms.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.kernel.atom_stream import AtomStream
from graphsqueak.kernel.budget import kors_copies
from graphsqueak.kernel.dictionary import Atoms, Dictionary
from graphsqueak.kernel.estimator import rho
from graphsqueak.validation import check_choice, check_count

__all__ = ["KORS"]

_HORIZON = 10**6  # points that a guarantee is made for, when nobody says how many will come


class KORS(Dictionary):
    """Kernel online row sampling; parameters and attributes of `Dictionary`, and:

    form : {"thesis", "paper"}
        Binomial copies [C17, Algorithm 8], or one coin per point [CLV17c, Algorithm 2]. For the
        latter `n_copies` is beta.
    horizon : int, optional
        Points for which epsilon is meant; by default those of `fit`, or a million for
        `partial_fit`.

    All prefixes of the stream are served: at the theory budget every one has an accurate
    dictionary, of at most 3 q d_onl(ridge) atoms. `n_components` is a ceiling here: once it is
    reached no point is inserted any more, and later points go unrepresented.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = KORS(ridge=0.1, random_state=7).fit(X)
    >>> len(d.indices_) < 300, 1000 in d.indices_
    (True, True)
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        ridge=1.0,
        n_components=None,
        epsilon=0.5,
        budget="practical",
        delta=0.1,
        n_copies=None,
        form="thesis",
        horizon=None,
        random_state=None,
    ):
        super().__init__(
            kernel=kernel,
            kernel_params=kernel_params,
            ridge=ridge,
            n_components=n_components,
            epsilon=epsilon,
            budget=budget,
            delta=delta,
            n_copies=n_copies,
            random_state=random_state,
        )
        self.form = form
        self.horizon = horizon

    _fixed_size = False

    def fit(self, X, y=None):
        """Start again, and take in the rows of X."""
        kernel, points = self._bound(X, reset=True)
        self._begin(n_points=len(points))
        return self._take(kernel, points)

    def partial_fit(self, X, y=None):
        """Take in more rows; one row at a time gives the same dictionary."""
        if self._precomputed():
            raise InputError("a precomputed kernel matrix has no further rows; call fit")
        fresh = not self.__sklearn_is_fitted__()
        kernel, points = self._bound(X, reset=fresh)
        if fresh:
            self._begin(n_points=_HORIZON)
        return self._take(kernel, points)

    def _begin(self, *, n_points):
        self._check()
        check_choice("form", self.form, ("thesis", "paper"))
        if isinstance(self.ridge, str):
            raise InputError("KORS never lets go of a point, so its ridge is fixed; give a number")
        if self.horizon is not None:
            n_points = check_count("horizon", self.horizon)
        factor = rho(self.epsilon) if self.form == "thesis" else 1.0
        self.ridge_ = float(self.ridge)
        self.n_copies_ = self._copies(n_points, rho=factor, theory=kors_copies)
        self.n_seen_ = 0
        self._seed = int(np.random.default_rng(self.random_state).integers(2**63))
        self._stream = AtomStream(
            ridge=self.ridge_,
            n_copies=self.n_copies_,
            epsilon=self.epsilon,
            form=self.form,
            seed=self._seed,
            ceiling=self.n_components,
        )

    def _kept(self):
        stream = self._stream
        rows = np.array(stream.rows, dtype=np.int64)
        return Atoms(rows, stream.points, stream.sampler.weights)

    def _take(self, kernel, points):
        for block in self._stream.blocks(kernel, points):
            for _ in block.insertions():
                pass
        self.n_seen_ = self._stream.n_seen
        return self
