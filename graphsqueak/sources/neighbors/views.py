"""Two views of the same points, such as the text and the headers of mails: one graph of both.

Points are joined to their nearest in the first view, as by `neighbor_edges`. The second may say
little, and there two points are joined, by half of their cosine, only where each is nearer to the
other than the other's last neighbor, the k-th: of a thousand points that look the same none is
near another, and none becomes the neighbor of all. What both views join has the sum of the weights.

On mails with full headers that halves the ham that is lost. Where of the headers only the kind of
content was left it does no harm; joining every mail to its five nearest by them cost up to five
points (docs/spam.md).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.graph import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.neighbors.edges import neighbor_edges
from graphsqueak.system.progress import Progress

__all__ = ["SECOND_SHARE", "SecondView", "TwoViews", "is_near"]

SECOND_SHARE = 0.5  # of an edge of the second view; 0.3 and 1 do as well, within the noise
_ROUNDING = 1e-6  # of cosines of float32 vectors


class SecondView(EdgeSource):
    """Edges between points that are near each other, by half of the cosine.

    Parameters
    ----------
    points : array of shape (n, d), or scipy sparse matrix
    n_neighbors : int
        Which neighbor of a point is the last.
    ids : array of shape (n,), optional
    progress : bool or callable

    Examples
    --------
    The third is the last neighbor of the first two:

    >>> SecondView([[1, 0], [3, 0.1], [1, 1], [0, 1]], 2).to_edge_list()
    EdgeList(n_nodes=4, n_edges=1, total_weight=0.499722)
    """

    def __init__(
        self,
        points: Any,
        n_neighbors: int,
        *,
        ids: ArrayLike | None = None,
        progress: Progress = False,
    ) -> None:
        super().__init__()
        k = min(n_neighbors, points.shape[0] - 1 if hasattr(points, "shape") else len(points) - 1)
        how: dict = {"metric": "cosine", "symmetrize": "mutual", "weight": "cosine"}
        self._near = neighbor_edges(points, k, ids=ids, progress=progress, **how)
        self._has_last = k == n_neighbors
        self.n_nodes, self.id_kind, self._ids = self._near.n_nodes, self._near.id_kind, ids

    @property
    def last(self) -> np.ndarray:
        """The cosine of each point with its last neighbor; 0 where there are too few points."""
        return 1.0 - self._near.reach**2 / 2 if self._has_last else np.zeros(self.n_nodes)

    def _batches(self):
        last = None
        for batch in self._near:
            last = self.last if last is None else last
            kept = is_near(batch.weight, last[batch.tail], last[batch.head])
            ends = batch.tail[kept], batch.head[kept]
            weight = SECOND_SHARE * batch.weight[kept]
            self.fraction_read = self._near.fraction_read
            yield EdgeList.from_validated(*ends, weight, batch.n_nodes, self._ids)


def is_near(cosine: np.ndarray, *last: np.ndarray) -> np.ndarray:
    """Whether points are nearer than the last neighbors are; equally near is not.

    >>> is_near(np.array([0.9, 0.5]), np.array([0.5, 0.5]))
    array([ True, False])
    """
    return np.all([cosine > one + _ROUNDING for one in last], axis=0)


class TwoViews(EdgeSource):
    """The edges of one source, and then those of another, of the same nodes.

    Parameters
    ----------
    first, second : EdgeSource

    Examples
    --------
    >>> first = neighbor_edges([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 1)
    >>> second = SecondView([[2, 0], [2, 0], [0, 1]], 2)
    >>> TwoViews(first, second).to_edge_list().to_scipy().toarray().round(2)
    array([[0. , 1.5, 0. ],
           [1.5, 0. , 0.1],
           [0. , 0.1, 0. ]])
    """

    def __init__(self, first: EdgeSource, second: EdgeSource) -> None:
        super().__init__()
        self._parts = first, second
        self.n_nodes, self.id_kind, self._ids = first.n_nodes, first.id_kind, first._ids

    def _batches(self):
        for number, part in enumerate(self._parts):
            for batch in part:
                self.fraction_read = (number + part.fraction_read) / 2
                self.n_zero_weights = self._parts[0].n_zero_weights
                yield batch
