"""Configuration of `graphsqueak.sparsify`, checked before an edge is read."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.budget import (
    Budget,
    StreamOptions,
    check_memory_limit,
    in_memory_bytes,
)
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier, new_stream
from graphsqueak.system.memory import check_fits
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_choice, check_count, check_real

METHODS = ("auto", "stream", "subgraph", "kelner-levin")


@dataclass(frozen=True, kw_only=True)
class SparsifyConfig:
    """Parameters of `graphsqueak.sparsify`, which documents them.

    An inconsistent configuration raises an InputError when it is made. Any of `workers`,
    `scheduler` and `tree` asks for a merge tree instead of a single pass.

    Examples
    --------
    >>> SparsifyConfig(n_edges=100, workers=2).is_tree
    True
    >>> SparsifyConfig(n_edges=100, keep=0.5)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: give exactly one of n_edges, epsilon and keep, not ...
    """

    n_edges: int | None = None
    epsilon: float | None = None
    keep: float | None = None
    method: str = "auto"
    ridge: float = 0.0
    half_life: float | None = None
    window: float | None = None
    n_panes: int = 16
    options: StreamOptions = field(default_factory=StreamOptions)
    certify: bool | None = None
    delta: float = 0.01
    workers: int | None = None
    scheduler: str | None = None
    tree: str | int | None = None
    n_parts: int | None = None
    memory_limit: int | None = None
    checkpoint: str | os.PathLike | None = None
    checkpoint_interval: float = 60.0
    resume: bool = False
    random_state: RandomState = None
    progress: Progress = False

    def __post_init__(self):
        check_choice("method", self.method, METHODS)
        # A stream checks its parameters when it is made.
        new_stream(**self.stream_settings())
        check_real("delta", self.delta, above=0.0, below=1.0)
        check_real("checkpoint_interval", self.checkpoint_interval, least=0.0)
        check_count("n_panes", self.n_panes)
        if self.n_parts is not None:
            check_count("n_parts", self.n_parts)
        if self.memory_limit is not None:
            limit = check_memory_limit(check_count("memory_limit", self.memory_limit), self.n_edges)
            # A frozen dataclass can be changed only like this. The stream reads its options alone.
            object.__setattr__(self, "options", replace(self.options, memory_limit=limit))
        self._check_method()
        self._check_tree()
        if self.resume and self.checkpoint is None:
            raise InputError(
                Parameter("resume", True),
                " needs ",
                Parameter("checkpoint"),
                ", the file or folder to resume from",
            )

    def _check_method(self):
        # The memory limit holds for subgraphs as well; other options are those of the stream.
        has_options = self.options != StreamOptions(memory_limit=self.options.memory_limit)
        is_for_stream = self.ridge > 0 or self.is_timed or self.is_tree or has_options
        if self.method == "subgraph" and (self.epsilon is not None or is_for_stream):
            raise _refused_subgraph(
                "takes n_edges or keep, not epsilon, and no ridge, window, half_life, merge tree "
                "or StreamOptions; use"
            )

    def _check_tree(self):
        if self.is_timed and self.is_tree:
            raise InputError(
                Parameter("window"),
                " and ",
                Parameter("half_life"),
                " take one pass: leave out workers, scheduler and tree",
            )
        # Guided trees may need more memory than a limit allows.
        if self.tree == "guided" and self.memory_limit is not None:
            raise InputError(
                Parameter("tree", "guided"),
                " has no memory limit; use ",
                Parameter("tree", "balanced"),
                ", or no ",
                Parameter("memory_limit"),
            )
        if self.n_parts is not None and not self.is_tree:
            raise InputError(
                Parameter("n_parts"),
                " is for merge trees; give workers, scheduler or tree as well",
            )

    @property
    def budget(self) -> Budget:
        """Number of edges to keep."""
        return Budget(self.n_edges, self.epsilon, self.keep)

    @property
    def is_tree(self) -> bool:
        """Whether the input is processed in parts that are merged."""
        return self.workers is not None or self.scheduler is not None or self.tree is not None

    @property
    def tree_shape(self) -> str | int:
        """Shape of the merge tree: guided, or balanced with a memory limit, by default."""
        if self.tree not in (None, "auto"):
            return self.tree
        return "guided" if self.memory_limit is None else "balanced"

    @property
    def is_timed(self) -> bool:
        """Whether edges are forgotten by their age."""
        return self.half_life is not None or self.window is not None

    @property
    def certified_epsilon(self) -> float | None:
        """Error that must be certified; the Kelner-Levin method has a guarantee of its own."""
        return None if self.method == "kelner-levin" else self.epsilon

    @property
    def stream_method(self) -> str:
        """Method of the stream: "stream" or "kelner-levin"."""
        return "kelner-levin" if self.method == "kelner-levin" else "stream"

    def stream_settings(self) -> dict[str, Any]:
        """Return the parameters of the stream but options and seed."""
        names = ["n_edges", "epsilon", "keep", "ridge"]
        if self.is_timed:
            names += ["half_life", "window", "n_panes"]
        settings = {name: getattr(self, name) for name in names}
        return settings | {"method": self.stream_method}

    def new_stream(self) -> StreamSparsifier | TimedSparsifier:
        """Return a stream that has seen no edges."""
        return new_stream(
            **self.stream_settings(), options=self.options, random_state=self.random_state
        )

    def needs_subgraph(self, stream: StreamSparsifier | TimedSparsifier) -> bool:
        """Return whether edges are chosen from the whole graph instead of sampled by the stream.

        Raises an InputError if that was asked for and the graph does not fit into memory.
        """
        # A stream that dropped no edge is the graph itself.
        if self.method != "subgraph" or stream.is_exact_ or not stream.n_edges_seen_:
            return False
        n_edges = stream.n_edges_seen_
        n_bytes = in_memory_bytes(stream.n_nodes_, n_edges)
        check_fits(n_bytes, f"a subgraph of a graph of {n_edges:,} edges")
        if self.memory_limit is not None and n_bytes > self.memory_limit:
            raise _refused_subgraph(
                f"needs the graph in memory, {n_bytes / 2**30:.1f} GiB; allow more memory, or use"
            )
        return True

    def is_certified(self, source: EdgeSource | EdgeList) -> bool:
        """Return whether the result on `source` is certified, which takes further passes."""
        is_rereadable = source.is_rereadable
        if self.method == "subgraph" and not is_rereadable:
            raise _refused_subgraph(
                "reads the input twice; a pipe can be read once: write it to a file, or use"
            )
        if self.method == "subgraph" and not source.is_materialized:
            raise _refused_subgraph(
                "needs the graph in memory, and the projection of a table is never built; use"
            )
        if self.certify and not is_rereadable:
            raise InputError(
                Parameter("certify", True),
                " reads the input several times; a pipe can be read once: write it to a file, or "
                "leave this out and get a predicted error",
            )
        if self.certify is None:
            return self.certified_epsilon is not None and is_rereadable
        return self.certify


def _refused_subgraph(problem):
    return InputError(
        Parameter("method", "subgraph"), f" {problem} ", Parameter("method", "stream")
    )
