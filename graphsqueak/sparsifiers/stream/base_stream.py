"""Parameters and methods that `StreamSparsifier` and `TimedSparsifier` have in common.

Both hold engines, one per pane of time. A `StreamSparsifier` has one pane, number 0.
"""

import inspect
import os
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import asdict
from functools import reduce
from operator import xor
from typing import ClassVar, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import first_ids
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import merge_ids, pack_ids, unpack_ids
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.report.shown import ReprMixin
from graphsqueak.sparsifiers.budget import Budget, StreamOptions, predicted_epsilon
from graphsqueak.sparsifiers.error_prediction import ErrorCurve
from graphsqueak.sparsifiers.stream.checkpoint import (
    FORMAT,
    VERSION,
    check_ids,
    check_numbers,
    check_state,
    read_checkpoint,
)
from graphsqueak.sparsifiers.stream.cut_probes import warn_if_worse
from graphsqueak.sparsifiers.stream.engine import PracticalEngine
from graphsqueak.sparsifiers.stream.finalize import Finalized
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes, as_plain_ids
from graphsqueak.sparsifiers.stream.state import StreamState
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack
from graphsqueak.validation import OtherNames, check_real


class BaseStream(OtherNames, ReprMixin):
    """Base class of the stream sparsifiers.

    Subclasses implement the abstract methods and properties.
    """

    _shown: ClassVar[dict[str, str]] = {
        "n_edges_seen_": "edges seen",
        "n_nodes_": "nodes seen",
        "n_components_": "components",
        "budget_": "edges of the sparsifier",
        "n_kept_": "edges in memory",
        "n_resparsifications_": "resparsifications",
        "epsilon_predicted_": "predicted error",
    }

    kind: str  # of its checkpoints
    method: str
    # Attributes besides the parameters that a checkpoint contains: numbers.
    _saved: ClassVar[tuple[str, ...]] = ("_seed",)

    _other_names: ClassVar[Mapping[str, str]] = {
        "edges": "sparsifier().edges",
        "fit": "partial_fit(graph)",
        "fit_transform": "partial_fit(graph).sparsifier()",
        "sparsifier_": "sparsifier()",
        "to_edge_list": "sparsifier()",
        "transform": "sparsifier()",
        "update": "partial_fit(edges)",
    }

    def __init__(
        self,
        budget: Budget,
        *,
        priority_nodes: Collection | None,
        priority_fraction: float,
        options: StreamOptions | None,
        random_state: RandomState,
    ) -> None:
        self.n_edges, self.epsilon, self.keep = budget
        self.priority_nodes = as_plain_ids(priority_nodes)
        self.priority_fraction = check_real(
            "priority_fraction", priority_fraction, least=0.0, below=1.0
        )
        self.options = StreamOptions() if options is None else options
        self.random_state = random_state
        self.note: dict[str, int] = {}
        self._budget = budget
        self._seed = seed_from(random_state)
        self._numbering = Numbering()
        self._engines: dict[int, PracticalEngine] = {}
        self._is_consumed = False
        self._result: Finalized | None = None  # of the last `sparsifier()`, without its edges
        self._result_n_seen = 0

    def save(self, path: str | os.PathLike) -> None:
        """Write a checkpoint from which `load` continues, bit for bit as without a stop."""
        with atomic_file(path) as file:
            pack(file, *self._pack())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Return the stream of a checkpoint; the rest of the edges gives the same result."""
        return cls._read(path)

    def set_note(self, note: dict[str, int]) -> None:
        """Save a small record with the state, as `note`."""
        self.note = note

    def same_seed(self, other: "BaseStream") -> bool:
        """Return whether both streams use the same random numbers."""
        return self._seed == other._seed

    @property
    @abstractmethod
    def n_nodes_(self) -> int:
        """Nodes seen so far."""

    @abstractmethod
    def _new_engine(self, number):
        """Return the engine of a pane that has seen no edges."""

    def _advance(self, newest):
        """Begin a new pane."""

    @abstractmethod
    def _whole_state(self):
        """Return the state of all edges that are not forgotten."""

    @abstractmethod
    def _final_budget(self):
        """Return the number of edges of the sparsifier if its error is not predicted yet."""

    def _settings(self):
        """Return the parameters of the constructor but options and seed."""
        names = inspect.signature(type(self)).parameters.keys() - {"options", "random_state"}
        settings = {name: getattr(self, name) for name in sorted(names)}
        if self.priority_nodes is not None:
            settings["priority_nodes"] = sorted(self.priority_nodes, key=str)
        return settings

    def _new_state(self, seed, *, ridge=0.0):
        priority = PriorityNodes(fraction=self.priority_fraction)
        return StreamState(seed=seed, ridge=ridge, priority=priority)

    def _ingest_pane(self, number, tail, head, weight, n_nodes):
        """Process edges of one pane."""
        engine = self._engines[number]
        if self.priority_nodes:
            engine.state.priority.look_up(self._numbering, n_nodes, self.priority_nodes)
        engine.ingest(tail, head, weight, n_nodes)

    def _finalize(self, engine, n_edges, *, consume):
        """Return the sparsifier of an engine; keep what is predicted and known about it."""
        result = engine.finalize(
            engine.final_budget() if n_edges is None else n_edges,
            epsilon=self.epsilon if n_edges is None else None,
            consume=consume,
        )
        edges = result.edges
        state = engine.state
        cut_error = state.cuts.error(edges, state.n_components)
        self.cut_error_lower_ = float(np.fmax(cut_error, result.cut_error))
        self._result = result._replace(edges=edges.select(slice(0, 0)))
        self._result_n_seen = state.n_seen
        if self.options.rescale_to_degrees and not self.is_exact_:
            warn_if_worse(self.epsilon_predicted_, self.cut_error_lower_)
        return edges.to_edge_list(self.n_nodes_, self._numbering.ids)

    def _pack(self):
        """Return the record and the arrays of a checkpoint."""
        self._check_not_consumed()
        arrays = pack_ids(self._numbering.ids, self.n_nodes_)
        numbers = {}
        for number, engine in sorted(self._engines.items()):
            pane_arrays, numbers[number] = engine.to_arrays()
            arrays |= {f"{number}_{name}": array for name, array in pane_arrays.items()}
        record = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "settings": self._settings(),
            "options": asdict(self.options),
            "random_state": self.random_state if isinstance(self.random_state, int) else None,
            "counters": {name: getattr(self, name) for name in self._saved},
            "numbers": numbers,
            "note": self.note,
        }
        return record, arrays

    @classmethod
    def _read(cls, name, data=None):
        record, arrays = read_checkpoint(name, data)
        if record.get("kind") != cls.kind:
            raise InputError(
                f"{name} is a checkpoint of another class; use graphsqueak.sparsifiers.load_stream"
            )
        return cls._unpack(record, arrays, name)

    @classmethod
    def _unpack(cls, record, arrays, name):
        """Return the stream of the record and the arrays of a checkpoint."""
        try:
            stream = cls(
                **record["settings"],
                options=StreamOptions(**record["options"]),
                random_state=record["random_state"],
            )
            stream._restore(record, arrays)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise InputError(
                f"{name} is not the state of a stream ({reason}); start the run again without it"
            ) from None
        return stream

    def _restore(self, record, arrays):
        """Restore everything but the parameters; raise an error if no stream wrote it."""
        counters = record["counters"]
        check_numbers(counters, like={name: getattr(self, name) for name in self._saved})
        vars(self).update(counters)
        self.note = dict(record["note"])
        for key, numbers in record["numbers"].items():
            engine = self._new_engine(int(key))
            pane_arrays = {
                name.removeprefix(f"{key}_"): arrays.pop(name)
                for name in list(arrays)
                if name.startswith(f"{key}_")
            }
            check_state(pane_arrays, numbers, like=engine.to_arrays()[1])
            self._engines[int(key)] = engine.from_arrays(pane_arrays, numbers)
            if self._engines[int(key)].state.n_nodes > self.n_nodes_:
                raise InputError("a pane has nodes that the stream does not have")
        check_ids(arrays, self.n_nodes_)
        self._numbering = Numbering(unpack_ids(arrays))

    def _merge(self, streams, names, random_state, **changes):
        """Return a stream that has seen the edges of several.

        Parameters
        ----------
        streams : list of BaseStream
        names : list of str
            Parameters that must be equal.
        random_state : int, Generator or None
        **changes
            Parameters that are not those of this stream.
        """
        for stream in streams:
            stream._check_not_consumed()
            if type(stream) is not type(self):
                raise InputError(
                    f"a {type(self).__name__} cannot be merged with a {type(stream).__name__}"
                )
            for name in ("options", *names):
                if getattr(self, name) != getattr(stream, name):
                    raise InputError(f"streams with different {name} cannot be merged")
        ids, node_maps = merge_ids([(s._numbering.ids, s.n_nodes_) for s in streams])
        priority_nodes = frozenset().union(*(stream.priority_nodes or () for stream in streams))
        changes["priority_nodes"] = priority_nodes or None
        merged = type(self)(**self._settings() | changes, options=self.options)
        if random_state is None:
            # By default the seed depends on those of the parts only.
            merged.random_state = self.random_state
            merged._seed = child_seed(reduce(xor, (s._seed for s in streams)), Step.MERGE)
        else:
            merged.random_state = random_state
            merged._seed = seed_from(random_state)
        merged._numbering = Numbering(ids)
        for number in sorted(set().union(*(stream._engines for stream in streams))):
            engines = [s._engines.get(number) or s._new_engine(number) for s in streams]
            # A pane may have seen fewer nodes than its stream.
            pane_maps = [
                node_map[: engine.state.n_nodes]
                for node_map, engine in zip(node_maps, engines, strict=True)
            ]
            merged._advance(number)
            new = merged._new_engine(number)
            merged._engines[number] = new.merge(engines, pane_maps, seed=new.state.seed)
        return merged

    def _check_not_consumed(self):
        if self._is_consumed:
            raise InputError(
                "sparsifier(consume=True) has consumed this stream; call it without consume"
            )

    @property
    def n_components_(self) -> int:
        """Connected components of the edges that are not forgotten."""
        return self._whole_state().n_components

    @property
    def degrees_(self) -> np.ndarray:
        """Exact weighted degrees; with a half-life, decayed to the time of the last edge."""
        state = self._whole_state()
        return state.degrees * state.weight_scale

    @property
    def effective_edges_(self) -> np.ndarray:
        """Kish's effective number of edges of every node: S^2 / S2 for sums of w and of w^2.

        It is the number of edges if all have the same weight, and 0 for isolated nodes.
        """
        state = self._whole_state()
        effective = np.zeros(state.n_nodes)
        has_edges = state.degrees > 0
        return np.divide(state.degrees**2, state.sums_of_squares, out=effective, where=has_edges)

    def cut_errors(self, sparsifier: EdgeList) -> np.ndarray:
        """Return the relative errors of a sparsifier on random cuts, whose weights are known.

        Parameters
        ----------
        sparsifier : EdgeList
            With the nodes of this stream, in their order.

        Returns
        -------
        ndarray
            At most eight errors; NaN after a merge of streams that numbered nodes differently.
        """
        return self._whole_state().cuts.relative_errors(sparsifier)

    @property
    def n_kept_(self) -> int:
        """Edges in memory."""
        return sum(engine.state.buffer.n_edges for engine in self._engines.values())

    @property
    def n_resparsifications_(self) -> int:
        """Number of resparsifications."""
        return sum(engine.state.n_resparsifications for engine in self._engines.values())

    @property
    def n_edges_recent_(self) -> int:
        """Edges that are not forgotten; after `sparsifier()`, those of the result's span."""
        if self._result is not None:
            return self._result_n_seen
        return self._n_recent()

    def _n_recent(self):
        return sum(engine.state.n_seen for engine in self._engines.values())

    @property
    def ids_(self) -> np.ndarray | None:
        """Ids of all nodes seen so far; None if they are 0, ..., n_nodes_ - 1."""
        return first_ids(self._numbering.ids, self.n_nodes_)

    @property
    def error_curve_(self) -> ErrorCurve | None:
        """Predicted error by number of edges, after `sparsifier()`.

        Only if `epsilon` was given, or if the predicted error is above 0.5.
        """
        return None if self._result is None else self._result.error_curve

    @property
    def budget_(self) -> int:
        """Edges of the sparsifier if the stream ended now.

        With `epsilon`, the number that a dense graph needs until `sparsifier()` is called, and the
        number that this graph needs afterwards.
        """
        if self.epsilon is not None and self.error_curve_ is not None:
            return self.error_curve_.edges_for(self.epsilon)
        return self._final_budget()

    @property
    def is_exact_(self) -> bool:
        """Whether no edge was dropped but those that are too old, so that the error is 0."""
        if self.method != "stream":
            return False
        if self._result is not None:
            return self._result.is_exact
        return self.n_resparsifications_ == 0 and self.n_edges_recent_ <= self.budget_

    @property
    def epsilon_predicted_(self) -> float:
        """Predicted error, 0 if no edge was dropped.

        Before `sparsifier()` it is the error on a dense graph with as many nodes.
        """
        if self.is_exact_:
            return 0.0
        if self._result is not None and self._result.predicted_error is not None:
            return self._result.predicted_error
        return predicted_epsilon(self.n_nodes_, self.budget_)


def seed_from(random_state: RandomState) -> int:
    """Return a seed for the counter-based random numbers."""
    return int(np.random.default_rng(random_state).integers(2**63))
