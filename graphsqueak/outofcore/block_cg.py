"""Block conjugate gradients for expensive products and an inexact preconditioner.

For A x = b with many columns, and M close to A, each iteration takes one product with A:

    1: Z = M^-1 R                        approximately, by the caller
    2: P = Z - P_1 G_1^-1 Q_1' Z         conjugate to the previous block P_1, with Q_1 = A P_1
    3: P : P' M P = I                    dependent directions are dropped
    4: Q = A P                           the product, by the caller
    5: G = P' Q,  x += P G^-1 P' R,  R -= Q G^-1 P' R

All columns share all directions [O80], so that k columns converge at least as fast as each alone.
After t iterations

    ||x_t - x||_A <= 2 ((sqrt(kappa) - 1) / (sqrt(kappa) + 1))^t ||x_0 - x||_A

with kappa the ratio of the largest to the smallest eigenvalue of M^-1 A [S03, (6.128)]. Conjugacy
uses the computed products instead of the scalars of the recursion, which makes the method flexible
[N00]: systems with M may be solved to a low accuracy. Because P is M-orthonormal, the eigenvalues
of G lie between those of M^-1 A. Hence G is well-conditioned if M is a good preconditioner.

A converged column is no longer updated, and adds no directions.

References
----------
[O80] O'Leary. The block conjugate gradient algorithm and related methods. Linear Algebra and its
      Applications 29, 1980.
[N00] Notay. Flexible conjugate gradients. SIAM J. Scientific Computing 22(4), 2000.
[S03] Saad. Iterative methods for sparse linear systems. SIAM, 2nd edition, 2003.
"""

from collections.abc import Callable

import numpy as np

from graphsqueak.solvers.lobpcg import MIN_EIGENVALUE, orthonormal


class BlockCG:
    """Iteration of block conjugate gradients for a caller that computes the products.

    Use it for matrices that are streamed: the caller multiplies `direction` by A in its own loop,
    and may stop, save or restart between two products.

    Parameters
    ----------
    x : ndarray of shape (n, K)
        Initial guess. Changed in place.
    residual : ndarray of shape (n, K)
        B - A x. Changed in place.
    times_preconditioner : callable
        Returns M Y for a block Y.

    Attributes
    ----------
    x, residual : ndarray of shape (n, K)
        The current solution and residual.
    direction : ndarray of shape (n, k)
        P of the last `turn`, k at most K.
    image, gram : ndarray or None
        Q and G of the last `advance`.

    Examples
    --------
    A 2 x 2 system without a preconditioner takes two iterations:

    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> b = np.array([[3.0], [4.0]])
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
        self.x = x
        self.residual = residual
        self._times_preconditioner = times_preconditioner
        self.direction = x[:, :0]
        self.image: np.ndarray | None = None
        self.gram: np.ndarray | None = None
        self._active: slice | np.ndarray = np.zeros(x.shape[1], dtype=bool)

    def turn(self, z: np.ndarray, active: np.ndarray | slice) -> None:
        """Compute the next direction from M^-1 R; `active` selects unconverged columns."""
        # A slice instead of a mask selects all columns without a copy.
        is_all = isinstance(active, slice) or active.all()
        self._active = slice(None) if is_all else active
        z = z[:, self._active]
        # 2: conjugate to the previous block
        if self.image is not None and self.gram is not None:
            z = z - self.direction @ _solve(self.gram, self.image.T @ z)
        self.image = None
        self.gram = None
        # 3: M-orthonormal
        self.direction = orthonormal(z, self._times_preconditioner)

    def advance(self, product: np.ndarray) -> None:
        """Update x and the residual, given the product A `direction`."""
        # 5: minimize the error along all directions
        gram = self.direction.T @ product
        gram = (gram + gram.T) / 2
        length = _solve(gram, self.direction.T @ self.residual[:, self._active])
        self.x[:, self._active] += self.direction @ length
        self.residual[:, self._active] -= product @ length
        self.image = product
        self.gram = gram

    def lowest(self) -> float:
        """Return the smallest eigenvalue of G, at least that of M^-1 A; infinite without G."""
        return np.inf if self.gram is None else np.linalg.eigvalsh(self.gram).min(initial=np.inf)

    def restart(
        self,
        residual: np.ndarray,
        times_preconditioner: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Continue from a measured residual, or with another preconditioner.

        The next direction is not conjugate to earlier ones.
        """
        self.residual[:] = residual
        self.image = None
        self.gram = None
        self._times_preconditioner = times_preconditioner or self._times_preconditioner

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state after an `advance`, for a checkpoint."""
        names = ("x", "residual", "direction", "image", "gram")
        arrays = {name: getattr(self, name) for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore the state that `arrays` returned."""
        self.x[:] = arrays["x"]
        self.residual[:] = arrays["residual"]
        self.direction = arrays["direction"]
        self.image = arrays.get("image")
        self.gram = arrays.get("gram")


def _solve(gram, right):
    """Return G^-1 times the right-hand side, without directions that A maps to rounding errors."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > MIN_EIGENVALUE * values.max(initial=0.0)
    return vectors[:, kept] @ ((vectors[:, kept].T @ right) / values[kept, None])
