"""Parameters and methods that `StreamSparsifier` and `TimedSparsifier` have in common."""

import os
from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import first_ids
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import merge_ids
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.report.shown import ReprMixin
from graphsqueak.sparsifiers.budget import StreamOptions, predicted_epsilon
from graphsqueak.sparsifiers.stream.checkpoint import read_checkpoint
from graphsqueak.sparsifiers.stream.priority_nodes import as_plain_ids
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack
from graphsqueak.validation import check_real

__all__ = ["BaseStream", "merged_seed", "seed_from", "union_of_nodes"]


class BaseStream(ReprMixin):
    """Base class of the stream sparsifiers.

    Subclasses implement the abstract methods and properties.
    """

    _shown: ClassVar[dict[str, str]] = {
        "n_edges_seen_": "edges seen",
        "n_nodes_": "nodes seen",
        "n_components_": "components",
        "budget_": "edges it may keep",
        "n_kept_": "edges held now",
        "n_shrinks_": "times it was thinned",
        "epsilon_predicted_": "epsilon, predicted",
    }

    kind: str  # of its checkpoints
    n_edges: int | None
    epsilon: float | None
    keep: float | None

    def __init__(
        self,
        *,
        favored_nodes: Collection | None,
        favored_share: float,
        options: StreamOptions | None,
        random_state: RandomState,
    ) -> None:
        self.favored_nodes = as_plain_ids(favored_nodes)
        self.favored_share = check_real("favored_share", favored_share, least=0.0, below=1.0)
        self.options = StreamOptions() if options is None else options
        self.random_state = random_state
        self.note: dict[str, int] = {}  # a small record that is saved with the state
        self._numbering = Numbering()
        self._is_consumed = False

    def save(self, path: str | os.PathLike) -> None:
        """Write a checkpoint from which `load` continues, bit for bit as without a stop."""
        with atomic_file(path) as file:
            pack(file, *self._pack())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Return the stream of a checkpoint; the rest of the edges gives the same result."""
        return cls._read(path)

    @abstractmethod
    def _pack(self) -> tuple[dict, dict]:
        """Return the record and the arrays of a checkpoint."""

    @classmethod
    @abstractmethod
    def _unpack(cls, record: dict, arrays: dict, name: str) -> Self:
        """Return the stream of the record and the arrays of a checkpoint."""

    @property
    @abstractmethod
    def n_nodes_(self) -> int:
        """Nodes seen so far."""

    @property
    @abstractmethod
    def budget_(self) -> int:
        """Edges of the sparsifier if the stream ended now."""

    @property
    @abstractmethod
    def is_whole_(self) -> bool:
        """Whether no edge was dropped, so that the error is 0."""

    @property
    @abstractmethod
    def _predicted_error(self) -> float | None:
        """Predicted error of the last result."""

    @property
    @abstractmethod
    def _random_key(self) -> int:
        """Key of the random numbers to come."""

    def same_seed(self, other: "BaseStream") -> bool:
        """Return whether both streams use the same random numbers."""
        return self._random_key == other._random_key

    @classmethod
    def _read(cls, name, data=None):
        record, arrays = read_checkpoint(name, data)
        if record.get("kind") != cls.kind:
            raise InputError(
                f"{name} is a checkpoint of another class; use graphsqueak.sparsifiers.load_stream"
            )
        return cls._unpack(record, arrays, name)

    @property
    def ids_(self) -> np.ndarray | None:
        """Ids of all nodes seen so far; None if they are 0, ..., n_nodes_ - 1."""
        return first_ids(self._numbering.ids, self.n_nodes_)

    @property
    def epsilon_predicted_(self) -> float:
        """Predicted error, 0 if no edge was dropped.

        Before `sparsifier()` it is the error on a dense graph with as many nodes.
        """
        if self.is_whole_:
            return 0.0
        if self._predicted_error is not None:
            return self._predicted_error
        return predicted_epsilon(self.n_nodes_, self.budget_)

    def _check_not_consumed(self) -> None:
        if self._is_consumed:
            raise InputError(
                "sparsifier(consume=True) has consumed this stream; call it without consume"
            )

    def _check_mergeable(self, others: Sequence["BaseStream"], names: Sequence[str]) -> None:
        """Raise an InputError if a stream cannot be merged with this one."""
        for stream in (self, *others):
            stream._check_not_consumed()
        for other in others:
            if type(other) is not type(self):
                raise InputError(
                    f"a {type(self).__name__} cannot be merged with a {type(other).__name__}"
                )
            if self.options != other.options:
                raise InputError("streams with different options cannot be merged")
            for name in names:
                if getattr(self, name) != getattr(other, name):
                    raise InputError(f"streams with different {name} cannot be merged")


def seed_from(random_state: RandomState) -> int:
    """Return a seed for the counter-based random numbers."""
    return int(np.random.default_rng(random_state).integers(2**63))


def merged_seed(seeds: Sequence[int], random_state: RandomState) -> int:
    """Return the seed of a merged stream; by default it depends on those of its parts only."""
    if random_state is not None:
        return seed_from(random_state)
    combined = 0
    for seed in seeds:
        combined ^= seed
    return child_seed(combined, Step.MERGE)


def union_of_nodes(streams: Sequence[BaseStream]) -> tuple[Any, list[np.ndarray], bool]:
    """Match the nodes of several streams by id.

    Returns
    -------
    ids : object or None
        Ids of all nodes.
    node_maps : list of ndarray of int32
        For each stream, the new numbers of its nodes.
    is_unchanged : bool
        Whether all numbers are the old ones.
    """
    ids, node_maps = merge_ids([(s._numbering.ids, s.n_nodes_) for s in streams])
    is_unchanged = all(np.array_equal(node_map, np.arange(node_map.size)) for node_map in node_maps)
    return ids, node_maps, is_unchanged
