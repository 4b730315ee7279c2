"""What a `StreamSparsifier` asks of its engine: the fast one, or the thesis' chain of copies."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import numpy as np

from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sparsifiers.budget import ErrorCurve
from graphsqueak.sparsifiers.stream.edges import KeptEdges

__all__ = ["StreamEngine"]


class StreamEngine(Protocol):
    """A stream of edges in, a sparsifier out at any time."""

    seed: int
    unit: float  # power of two in which weights and degrees are held
    ridge: float
    degree: np.ndarray  # of every node, exact, in units
    n_seen: int  # edges taken in
    n_shrinks: int  # how often they were thinned
    n_joins: int  # of two components
    result_error: float  # largest change of a weak cut by a shrink, that of the result included
    budget: Callable[[int, int], int]  # of the sparsifier of so many nodes and edges
    error_curve: ErrorCurve | None  # of the last result, if the budget is an error
    is_result_whole: bool | None  # whether the last result has all edges; None before there is one

    @property
    def n_nodes(self) -> int: ...

    @property
    def n_kept(self) -> int: ...

    def absorb(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        """Take in edges between nodes 0, ..., n_nodes - 1."""

    def favor(self, numbering: Numbering, n_nodes: int, wanted: Collection) -> None:
        """Learn which of the nodes new to `numbering` are among the `wanted` ids."""

    def final_edges(
        self, budget: int, *, epsilon: float | None = None, use_up: bool = False
    ) -> KeptEdges:
        """The sparsifier of all edges so far; the engine is left as it is, or used up."""

    def merge(self, others: Sequence, numbers: Sequence, *, seed: int) -> "StreamEngine":
        """An engine that has seen all streams; `numbers` are the others' nodes in our numbering."""

    def settle(self) -> None:
        """Make the state small before it travels."""

    def make_room(self, n_streams: int) -> None:
        """Keep to a share of the memory before as many streams are merged."""

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Everything that the rest of the stream depends on, as arrays and numbers."""

    def restore(self, state: tuple[dict[str, np.ndarray], dict[str, Any]]) -> None:
        """Go on from what `state` gave; the arrays are ours from now on."""
