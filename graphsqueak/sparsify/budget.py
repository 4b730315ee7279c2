"""How many edges a sparsifier may have: asked for directly, by accuracy, or as a share.

A graph of mean degree d is at best 2 / sqrt(d) away from a dense one (Alon and Boppana), and the
stream sparsifier comes close to that limit on dense graphs, so n_edges edges on n nodes predict

    epsilon = 2 / sqrt(2 n_edges / n) = sqrt(2 n / n_edges).
"""

import math
from typing import NamedTuple

from graphsqueak.validation import InputError, check_count, check_real

__all__ = ["Budget", "predicted_epsilon"]

_MARGIN = 1.1  # more edges than the limit asks for
_FEWEST = 2**19  # edges that a share is taken to be while nobody knows how long the stream is


class Budget(NamedTuple):
    """Exactly one of the three is set.

    >>> Budget(n_edges=None, epsilon=0.5, keep=None)(n_nodes=1000, n_seen=10**6)
    8800
    """

    n_edges: int | None
    epsilon: float | None
    keep: float | None

    def __call__(self, n_nodes, n_seen):
        """Number of edges for what has been seen so far."""
        if self.n_edges is not None:
            return self.n_edges
        if self.epsilon is not None:
            return math.ceil(_MARGIN * 2 * n_nodes / self.epsilon**2)
        return max(math.ceil(self.keep * n_seen), 1)

    def during(self, n_nodes, n_seen):
        """The same while the stream goes on.

        The share of a beginning is a small number, and what is thinned to it does not come back
        when the stream turns out to be long: so a share is half a million edges at least.
        """
        budget = self(n_nodes, n_seen)
        return budget if self.keep is None else max(budget, _FEWEST)

    def checked(self):
        """This budget, or an InputError."""
        given = [name for name, value in self._asdict().items() if value is not None]
        if len(given) != 1:
            said = " and ".join(given) or "none"
            raise InputError(f"give exactly one of n_edges, epsilon and keep, not {said}")
        if self.n_edges is not None:
            check_count("n_edges", self.n_edges)
        elif self.epsilon is not None:
            check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        elif check_real("keep", self.keep, above=0.0) > 1:
            raise InputError(f"keep={self.keep} is a share of the edges, at most 1")
        return self


def predicted_epsilon(n_nodes, n_edges):
    """Accuracy of a sparsifier of a dense graph.

    >>> predicted_epsilon(1000, 8000)
    0.5
    """
    return math.sqrt(2 * n_nodes / n_edges) if n_edges else math.inf
