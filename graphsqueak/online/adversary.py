"""Streams made against learners: one point again and again, labels that turn round.

`n_blocks` blocks repeat one instance `n_repeats` times each; in every second block the label is
flipped [ZL19, Section 6]. What was learnt in a block misleads in the next one like it, so a learner
must both adapt and keep few points: with the same point and alternating targets, a dictionary that
stores gradients grows with t, while the span has one dimension [C17, Section 5.2.1].

References
----------
[C17]  Calandriello. Efficient sequential learning in structured and constrained environments.
       PhD thesis, 2017.
[ZL19] Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.validation import check_count

__all__ = ["flipped_blocks"]


def flipped_blocks(X, y, *, n_blocks, n_repeats, random_state=None):
    """Rows of X in blocks, and labels of which every second block's are flipped.

    >>> X, y = flipped_blocks(np.eye(2), np.ones(2), n_blocks=2, n_repeats=3, random_state=7)
    >>> X.shape, y
    ((6, 2), array([ 1.,  1.,  1., -1., -1., -1.]))
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(X) != len(y) or not len(X):
        raise InputError(f"X has {len(X)} rows and y {len(y)}; give a label to each of some rows")
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InputError("labels are -1 and 1 here")
    n_blocks = check_count("n_blocks", n_blocks)
    rng = np.random.default_rng(random_state)
    chosen = rng.choice(len(X), size=n_blocks, replace=n_blocks > len(X))
    sign = np.where(np.arange(n_blocks) % 2, -1.0, 1.0)
    repeats = check_count("n_repeats", n_repeats)
    return np.repeat(X[chosen], repeats, axis=0), np.repeat(sign * y[chosen], repeats)
