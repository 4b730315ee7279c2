"""What a run is to do: budget, method, stream or tree, checkpoint, memory, certificate."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sparsifiers.budget import StreamOptions, check_room, held_bytes
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier, new_stream
from graphsqueak.system.memory import check_fits
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["METHODS", "RunPlan"]

METHODS = ("auto", "fast", "subgraph", "thesis")


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What a run is to do; one that makes no sense is refused here, before an edge is read.

    Its fields are the parameters of `graphsqueak.sparsify`, which documents them. Any of `workers`,
    `scheduler` and `tree` makes it a merge tree instead of a single pass.
    """

    n_edges: int | None = None
    epsilon: float | None = None
    keep: float | None = None
    method: str = "auto"
    ridge: float = 0.0
    half_life: float | None = None
    window: float | None = None
    buckets: int = 16
    options: StreamOptions = field(default_factory=StreamOptions)
    certify: bool | None = None
    delta: float = 0.01
    workers: int | None = None
    scheduler: str | None = None
    tree: str | int | None = None
    n_parts: int | None = None
    memory_limit: int | None = None
    checkpoint: str | os.PathLike | None = None
    every: float = 60.0
    resume: bool = False
    random_state: RandomState = None
    progress: Progress = False

    def __post_init__(self):
        if self.memory_limit is not None:
            limit = check_room(check_count("memory_limit", self.memory_limit), self.n_edges)
            object.__setattr__(self, "options", replace(self.options, memory_limit=limit))
        check_choice("method", self.method, METHODS)
        self.new_stream(seed=0)  # checks budget, method, ridge, and draws nothing
        if self.method == "subgraph" and (problem := self._not_for_a_subgraph()):
            raise InputError(f"method='subgraph' {problem}; use method='fast'")
        if self.is_timed and (self.is_tree or self.method == "subgraph"):
            raise InputError(
                "window and half_life run in one pass; leave workers, scheduler and tree away, and "
                "method='subgraph'"
            )
        if self.tree == "guided" and self.memory_limit is not None:
            raise InputError(
                "tree='guided' keeps to no memory limit; give tree='balanced', or no memory_limit"
            )
        check_real("every", self.every, least=0.0)
        check_real("delta", self.delta, above=0.0, below=1.0)
        if self.n_parts is not None:
            check_count("n_parts", self.n_parts)
            if not self.is_tree:
                raise InputError(
                    "n_parts is for merge trees; give workers, scheduler or tree as well"
                )
        if self.resume and self.checkpoint is None:
            raise InputError("resume=True needs checkpoint=PATH, the file or folder to go on from")

    @property
    def is_tree(self) -> bool:
        """Whether the input is read in parts that are merged."""
        return self.workers is not None or self.scheduler is not None or self.tree is not None

    @property
    def shape(self) -> str | int:
        """The shape of the merge tree; guides ask for more memory than a limit may allow."""
        if self.tree not in (None, "auto"):
            return self.tree
        return "guided" if self.memory_limit is None else "balanced"

    @property
    def is_timed(self) -> bool:
        """Whether edges are forgotten by their age."""
        return self.half_life is not None or self.window is not None

    @property
    def goal(self) -> float | None:
        """The accuracy that has to be proved; the thesis' method has a guarantee of its own."""
        return None if self.method == "thesis" else self.epsilon

    def takes_a_subgraph(
        self, source: GraphLike, stream: StreamSparsifier | TimedSparsifier
    ) -> bool:
        """Whether edges are to be chosen from the whole `source` instead of from its stream.

        An InputError if that is asked for and the graph cannot be held.
        """
        if self.method != "subgraph" or stream.is_whole_ or not stream.n_edges_seen_:
            return False
        if getattr(source, "is_implicit", False):
            raise InputError(
                "method='subgraph' holds the graph, and that of a table of pairs is never "
                "built; use method='fast'"
            )
        n_edges, limit = stream.n_edges_seen_, self.memory_limit
        needed = held_bytes(stream.n_nodes_, n_edges)
        check_fits(needed, f"a subgraph of a graph of {n_edges:,} edges")
        if limit is not None and needed > limit:
            raise InputError(
                f"method='subgraph' holds the graph, which takes {needed / 2**30:.1f} GiB; "
                "allow more memory, or use method='fast'"
            )
        return True

    def _not_for_a_subgraph(self):
        """Why a subgraph cannot be chosen, in words; empty if it can."""
        if self.epsilon is not None:
            return "takes n_edges or keep, not epsilon"
        if self.ridge > 0:
            return "has no ridge"
        if self.is_timed:
            return "forgets nothing"
        if self.is_tree:
            return "holds the whole graph and has no merge tree"
        if self.options != StreamOptions(memory_limit=self.options.memory_limit):
            return "has no StreamOptions"
        return ""

    def settings(self) -> dict[str, Any]:
        """The arguments of the `StreamSparsifier` but options and seed."""
        names: tuple[str, ...] = ("n_edges", "epsilon", "keep", "ridge")
        method = "thesis" if self.method == "thesis" else "fast"
        names += ("half_life", "window", "buckets") if self.is_timed else ()
        return {name: getattr(self, name) for name in names} | {"method": method}

    def new_stream(self, seed: int | None = None) -> StreamSparsifier | TimedSparsifier:
        """A stream that has seen nothing yet; with a `seed` of its own, the plan's is not used."""
        random_state = self.random_state if seed is None else seed
        return new_stream(**self.settings(), options=self.options, random_state=random_state)

    def certifies(self, source: GraphLike) -> bool:
        """Whether the result on `source` is certified."""
        is_rereadable = getattr(source, "is_rereadable", True)
        if self.method == "subgraph" and not is_rereadable:
            raise InputError(
                "method='subgraph' reads the input twice; a pipe can be read once: write it to a "
                "file, or use method='fast'"
            )
        if self.certify and not is_rereadable:
            raise InputError(
                "certify=True reads the input several times; a pipe can be read once: write it to "
                "a file, or leave certify=True out and get a predicted accuracy"
            )
        if self.certify is None:
            return self.goal is not None and is_rereadable
        return self.certify
