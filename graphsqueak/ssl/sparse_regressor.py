"""SparseHFSRegressor: values of nodes from one pass over a stream of edges."""

from graphsqueak.ssl.labels import is_missing, one_column, real_labels
from graphsqueak.ssl.online import OnlineEdges
from graphsqueak.ssl.stable_regressor import StableHFSRegressor

__all__ = ["SparseHFSRegressor"]


class SparseHFSRegressor(OnlineEdges, StableHFSRegressor):
    """Stable-HFS regression on a sparsifier that favors the edges at labeled nodes.

    Parameters
    ----------
    n_edges, epsilon, keep, progress
        As of `SparseHFSClassifier`.
    label_share : "auto" or float in [0, 1)
        Share of the budget for edges at labeled nodes; "auto" is a half. (Values, unlike classes,
        cannot be summed by class.)
    eta, affinity, n_neighbors, metric, tol, random_state
        As of `StableHFSRegressor`.

    Attributes
    ----------
    transduction_, reached_, eta_, mean_
        As of `StableHFSRegressor`.
    sparsifier_, n_edges_seen_, n_edges_used_
        As of `SparseHFSClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphsqueak.sources import complete
    >>> y = np.full(100, np.nan)
    >>> y[:2] = 1.0, 3.0
    >>> model = SparseHFSRegressor(n_edges=1000, random_state=7).fit(complete(100), y)
    >>> round(float(model.transduction_[50]), 3)
    2.0
    """

    def __init__(
        self,
        *,
        n_edges=None,
        epsilon=None,
        keep=None,
        label_share="auto",
        eta="auto",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        tol=1e-6,
        random_state=None,
        progress=False,
    ):
        super().__init__(
            eta=eta,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            tol=tol,
            random_state=random_state,
        )
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.label_share, self.progress = label_share, progress

    _is_none = staticmethod(is_missing)
    _read_labels = staticmethod(real_labels)

    def fit(self, X, y):
        """Read the stream of edges X once and give every node a value."""
        source = self._source(X)
        self._forget()
        return self._fit_sampled(source, one_column(y), self._given(source, y))
