"""Incremental sketches of a kernel matrix, and the feature map that they give.

Of the kernel matrix K of the points absorbed so far, with S_p a sparse Johnson-Lindenstrauss
transform and S_m the choice of s_m landmarks,

    Phi_pm = S_p' K S_m,      Phi_pp = S_p' K S_p.

S_p has d entries +-1 / d^1/2 in a row, one in each of d blocks of columns: E S_p S_p' = I, and
<S_p'x, S_p'y> has the variance at most (<x, y>^2 + |x|^2 |y|^2) / s_p. A new point with values psi
to the others and a row s of S_p adds, with a = S_p' psi and c = S_m' psi,

    Phi_pm += s c',      Phi_pp += s a' + a s' + k_tt s s'.

The landmarks stay, so the row of S_m is zero. F = Phi_pm^+ Phi_pp (Phi_pm')^+ makes C_m F C_m' an
approximation of K; with Phi_pp ~ V_k diag(sig) V_k' of rank k,

    z(x) = Q' k_landmarks(x),      Q = Phi_pm^+ V_k diag(sig)^1/2           [ZL19, Section 1].

References
----------
[ZL19] Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019,
       supplementary material.
"""

import numpy as np

__all__ = ["KernelSketch", "sparse_signs"]


def sparse_signs(n_rows, n_columns, n_blocks, *, rng):
    """Columns and values of the entries of S_p, `n_blocks` in each row.

    >>> column, value = sparse_signs(3, 6, 2, rng=np.random.default_rng(7))
    >>> column.shape, np.abs(value)[0].round(3), bool((column[:, 0] < 3).all())
    ((3, 2), array([0.707, 0.707]), True)
    """
    edges = np.linspace(0, n_columns, n_blocks + 1).astype(np.int64)
    column = rng.integers(edges[:-1], edges[1:], size=(n_rows, n_blocks))
    value = rng.choice((-1.0, 1.0), size=column.shape) / np.sqrt(n_blocks)
    return column, value


class KernelSketch:
    """The two sketches of the points absorbed.

    Parameters
    ----------
    kernel : object with k(X, Y)
    points : ndarray
        The first points, all absorbed.
    landmarks : ndarray of int
        Which of them are landmarks.
    size : int
        s_p.
    n_blocks : int
        d.
    rng : numpy Generator
    """

    def __init__(self, kernel, points, landmarks, *, size, n_blocks, rng):
        self.kernel, self.rng, self.size, self.n_blocks = kernel, rng, size, n_blocks
        self.points, self.landmarks = points, points[landmarks]
        self._column, self._value = sparse_signs(len(points), size, n_blocks, rng=rng)
        K = kernel(points, points)
        self.pm = self._sketch(K[:, landmarks])
        self.pp = self._sketch(self._sketch(K).T)

    def absorb(self, point):
        """Take in one more point (a matrix of one row)."""
        psi = self.kernel(self.points, point)
        a = self._sketch(psi)[:, 0]
        column, value = sparse_signs(1, self.size, self.n_blocks, rng=self.rng)
        s = np.zeros(self.size)
        s[column[0]] = value[0]
        self.pm += np.outer(s, self.kernel(point, self.landmarks)[0])
        cross = np.outer(s, a)
        self.pp += cross + cross.T + self.kernel.diag(point)[0] * np.outer(s, s)
        self.points = np.concatenate([self.points, point])
        self._column = np.concatenate([self._column, column])
        self._value = np.concatenate([self._value, value])

    def map(self, rank):
        """Q, with at most `rank` columns."""
        sig, V = np.linalg.eigh(self.pp)
        good = sig > 1e-10 * max(sig[-1], 0.0)
        good[: max(sig.size - rank, 0)] = False
        return np.linalg.pinv(self.pm, rcond=1e-8) @ (V[:, good] * np.sqrt(sig[good]))

    def _sketch(self, rows):
        """S_p' rows."""
        out = np.zeros((self.size, rows.shape[1]))
        for block in range(self.n_blocks):
            np.add.at(out, self._column[:, block], self._value[:, block, None] * rows)
        return out
