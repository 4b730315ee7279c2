"""One graph from two views of the same points, such as the text and the headers of mails.

The first view is an ordinary neighbor graph (`neighbor_edges`). The second may have little
information: of a thousand points that look the same, all are near each other. So it joins two
points only if their cosine exceeds that of each one's last (k-th) neighbor. Its weights are half of
the cosine, and edges of both views have the sum of the weights.

On mails with full headers this halves the ham that is lost. If the headers have only the content
type, it has no effect; joining every mail to its five nearest by headers costs up to five points
(docs/research/spam.md).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.graph import EdgeList
from graphsqueak.sources import EdgeSource, neighbor_edges
from graphsqueak.system.progress import Progress

# Weight of the second view relative to the first; 0.3 and 1 change the accuracy on mails by less
# than the spread over draws.
SECOND_VIEW_WEIGHT = 0.5


class SecondView(EdgeSource):
    """Edges between points that are nearer to each other than their last neighbors are.

    Parameters
    ----------
    points : array of shape (n, d), or scipy sparse matrix
    n_neighbors : int
        Rank k of the last neighbor.
    ids : array of shape (n,), optional
    progress : bool or callable

    Examples
    --------
    The third point is the last neighbor of the first two:

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
        n_others = np.shape(points)[0] - 1
        self._neighbors = neighbor_edges(
            points,
            min(n_neighbors, n_others),
            metric="cosine",
            symmetrize="mutual",
            weight="cosine",
            ids=ids,
            progress=progress,
        )
        self._has_last = n_neighbors <= n_others
        self.n_nodes = self._neighbors.n_nodes
        self.id_kind = self._neighbors.id_kind
        self._ids = self._neighbors.node_ids

    @property
    def last_cosine(self) -> np.ndarray:
        """Cosine of each point with its last neighbor; 0 if there are fewer than k others."""
        if not self._has_last:
            return np.zeros(self.n_nodes)
        return 1.0 - self._neighbors.last_distance**2 / 2

    def _batches(self):
        last_cosine = self.last_cosine
        for batch in self._neighbors.batches():
            cosine = batch.weight
            is_kept = exceeds_last(cosine, last_cosine[batch.tail], last_cosine[batch.head])
            self.fraction_read = self._neighbors.fraction_read
            yield EdgeList.from_validated(
                batch.tail[is_kept],
                batch.head[is_kept],
                SECOND_VIEW_WEIGHT * cosine[is_kept],
                batch.n_nodes,
                batch.node_ids,
            )


def exceeds_last(
    cosine: np.ndarray, *last_cosines: np.ndarray, rounding: float = 1e-6
) -> np.ndarray:
    """Return whether cosines exceed those of the last neighbors; equal ones do not.

    `rounding` is the error of cosines of float32 vectors.

    >>> exceeds_last(np.array([0.9, 0.5]), np.array([0.5, 0.5]))
    array([ True, False])
    """
    return np.all([cosine > last + rounding for last in last_cosines], axis=0)


class TwoViews(EdgeSource):
    """The edges of one source, then those of another one of the same nodes.

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
        self._first = first
        self._second = second
        self.n_nodes = first.n_nodes
        self.id_kind = first.id_kind
        self._ids = first.node_ids

    def _batches(self):
        for batch in self._first.batches():
            self.fraction_read = self._first.fraction_read / 2
            self.n_zero_weights = self._first.n_zero_weights
            yield batch
        for batch in self._second.batches():
            self.fraction_read = (1 + self._second.fraction_read) / 2
            yield batch
