"""Block conjugate gradients in which every product is dear and the preconditioner may wander.

For A x = b with many columns, and M near A, each step takes one product with A:

    Z = M^-1 R                           solved by the caller, about
    P = Z - P_1 G_1^-1 Q_1' Z            conjugate to the block P_1 before, by its true Q_1 = A P_1
    P : P' M P = I                       directions that depend on others are dropped
    Q = A P                              the product, by the caller
    G = P' Q,  x += P G^-1 P' R,  R -= Q G^-1 P' R

All columns share all directions [O80], so that k of them together converge at least as fast as each
alone, and the sooner the fewer extreme eigenvalues M^-1 A has besides: after t steps

    |x_t - x|_A <= 2 ((sqrt(kappa) - 1) / (sqrt(kappa) + 1))^t |x_0 - x|_A

with kappa the ratio of the largest to the smallest eigenvalue of M^-1 A [S03, (6.128)]. Conjugacy
is enforced with the products that were taken, not by the recursion's scalars: the method is
flexible [N00], so M may be solved with loosely. Since P is M-orthonormal, the eigenvalues of G lie
between those of M^-1 A: G is well-conditioned when M is any good, and a breakdown is impossible.

A column that is done stands still, and gives no further directions.

References
----------
[O80] O'Leary. The block conjugate gradient algorithm and related methods. Linear Algebra and its
      Applications 29, 1980.
[N00] Notay. Flexible conjugate gradients. SIAM J. Scientific Computing 22(4), 2000.
[S03] Saad. Iterative methods for sparse linear systems. SIAM, 2nd edition, 2003.
"""

from collections.abc import Callable

import numpy as np

__all__ = ["BlockCG", "orthonormal"]

_DEPENDENT = 1e-12  # squared part of a unit direction that is not in the span of the others
_ROUNDING = 1e-14  # of the largest eigenvalue of G
_ROUGH = 1e-3  # a part below which orthonormalizing once is not enough


class BlockCG:
    """The iteration, without the product and the preconditioner, which the caller has.

    Parameters
    ----------
    x : ndarray of shape (n, K)
        Where to begin. Changed in place.
    residual : ndarray of shape (n, K)
        B - A x. Changed in place.
    times_preconditioner : callable
        M Y of a block Y.

    Attributes
    ----------
    x, residual : ndarray of shape (n, K)
        Where it stands.
    direction : ndarray of shape (n, k)
        P of the last `turn`, k at most K.
    image, gram : ndarray or None
        Q and G of the last `advance`.

    Examples
    --------
    A 2 x 2 system without a preconditioner takes two steps:

    >>> A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[3.0], [4.0]])
    >>> cg = BlockCG(np.zeros((2, 1)), b.copy(), lambda y: y)
    >>> for _ in range(2):
    ...     cg.turn(cg.residual, np.array([True]))
    ...     cg.advance(A @ cg.direction)
    >>> cg.x.ravel()
    array([1., 1.])
    """

    def __init__(
        self,
        x: np.ndarray,
        residual: np.ndarray,
        times_preconditioner: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.x, self.residual = x, residual
        self._times_preconditioner = times_preconditioner
        self.direction = x[:, :0]
        self.image: np.ndarray | None = None
        self.gram: np.ndarray | None = None
        self._active: slice | np.ndarray = np.zeros(x.shape[1], dtype=bool)

    def turn(self, z: np.ndarray, active: np.ndarray | slice) -> None:
        """Make the next direction of M^-1 R, of whose columns `active` ones are not done yet."""
        is_all = isinstance(active, slice) or active.all()
        self._active = slice(None) if is_all else active  # a view, where that is enough
        z = z[:, self._active]
        if self.image is not None and self.gram is not None:
            z = z - self.direction @ _solve(self.gram, self.image.T @ z)
        self.image = self.gram = None
        self.direction = orthonormal(z, self._times_preconditioner)

    def advance(self, product: np.ndarray) -> None:
        """Take in A `direction`, and step to the best x along it."""
        gram = self.direction.T @ product
        gram = (gram + gram.T) / 2
        length = _solve(gram, self.direction.T @ self.residual[:, self._active])
        self.x[:, self._active] += self.direction @ length
        self.residual[:, self._active] -= product @ length
        self.image, self.gram = product, gram

    def lowest(self) -> float:
        """Smallest eigenvalue of G, at least that of M^-1 A; infinite where there is no G."""
        return np.inf if self.gram is None else np.linalg.eigvalsh(self.gram).min(initial=np.inf)

    def restart(
        self,
        residual: np.ndarray,
        times_preconditioner: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Go on from a residual that was measured, or with another preconditioner.

        There is no direction before the next one to which it would have to be conjugate.
        """
        self.residual[:] = residual
        self.image = self.gram = None
        self._times_preconditioner = times_preconditioner or self._times_preconditioner

    def arrays(self) -> dict[str, np.ndarray]:
        """What `restore` takes, after an `advance`, to go on from here."""
        names = ("x", "residual", "direction", "image", "gram")
        arrays = {name: getattr(self, name) for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go back to where `arrays` were taken."""
        self.x[:], self.residual[:], self.direction = (
            arrays[name] for name in ("x", "residual", "direction")
        )
        self.image, self.gram = arrays.get("image"), arrays.get("gram")


def _solve(gram, right):
    """G^-1 of a symmetric G; a direction along which A is nothing but rounding gets no part."""
    values, turn = np.linalg.eigh(gram)
    kept = values > _ROUNDING * values.max(initial=0.0)
    return turn[:, kept] @ ((turn[:, kept].T @ right) / values[kept, None])


def orthonormal(
    block: np.ndarray, times_preconditioner: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Columns P with P' M P = I that span those of `block`, but for what depends on others.

    Parameters
    ----------
    block : ndarray of shape (n, k)
    times_preconditioner : callable
        M Y of a block Y.

    Returns
    -------
    ndarray of shape (n, at most k)

    Examples
    --------
    >>> twice = np.array([[3.0, 6.0, 0.0], [0.0, 0.0, 2.0]])
    >>> orthonormal(twice, lambda y: y).shape
    (2, 2)
    """
    smallest = 0.0
    while smallest < _ROUGH and block.shape[1]:
        gram = block.T @ times_preconditioner(block)
        size = np.sqrt(np.diag(gram).clip(0))
        there = size > 0
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=there)
        values, turn = np.linalg.eigh(scale[:, None] * ((gram + gram.T) / 2) * scale)
        kept = values > _DEPENDENT * max(values[-1], 1.0)
        smallest = values[kept].min(initial=1.0)
        block = block @ (scale[:, None] * turn[:, kept] / np.sqrt(values[kept]))
    return np.ascontiguousarray(block)
