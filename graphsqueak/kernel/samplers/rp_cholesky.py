"""RPCholesky: atoms by randomly pivoted Cholesky (`pivots`), for points that are all in memory.

Each atom is drawn by how much of it the atoms before leave unexplained. For the span of the atoms,
which is all that Nystrom features, regression and components use, that is hard to beat: the error
is near that of the best span of a few dimensions less [CETW25]. It needs n m kernel values and n m
numbers of memory, so it is for points that can be looked at again; `SQUEAK` and `KORS` are for
streams. The weights have the expectation 1 like those of other samplers, with more variance.

References
----------
[CETW25] Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky. Comm. Pure Appl. Math. 78, 2025.
"""

from dataclasses import dataclass

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.pivots import draw_pivots, pivot_weights
from graphsqueak.kernel.samplers.batch import BatchDictionary
from graphsqueak.validation import check_count

__all__ = ["RPCholesky"]


@dataclass(kw_only=True, eq=False, repr=False)
class RPCholesky(BatchDictionary):
    """Atoms drawn one after the other by their residual.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma at which `accuracy` is measured; it has no say in the draws.
    n_components : int
        Exactly that many atoms (all points, if there are fewer).
    block_size : int, optional
        Proposals at a time, of which some are rejected; 1 is the plain method, larger blocks are
        faster and have the same law. Default: a tenth of the atoms.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again), in
        the order of the draws.
    ridge_, n_seen_
        The ridge, and how many points were seen.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = RPCholesky(n_components=3, random_state=7).fit(X)
    >>> sorted(set(d.components_.ravel().tolist()))
    [0.0, 9.0]
    """

    block_size: int | None = None

    def _draw(self, kernel, points, rng):
        if self.n_components is None:
            raise InputError("RPCholesky draws a number of atoms; give ", Parameter("n_components"))
        block = None if self.block_size is None else check_count("block_size", self.block_size)
        self.n_copies_ = None
        pivots = draw_pivots(kernel, points, self.n_components, rng=rng, block=block)
        return pivots.rows, pivot_weights(pivots.chance)
