"""Sparsifier of an edge stream: constant memory, an answer at any time, checkpoints, merging.

A stream sees every edge once and samples about two budgets of them in the `StreamState`, whatever
the length of the stream. `sparsifier()` returns the sparsifier of everything seen so far.

Streams can be merged. The sum of eps-sparsifiers of several graphs is an eps-sparsifier of their
sum, whatever nodes and edges they share. Merging therefore costs no accuracy; only a
resparsification that may follow does. This does not hold with a ridge: k sparsifiers that are each
accurate up to a ridge gamma are together accurate up to k gamma, since the ground node counts k
times. A merge tree with k leaves gives each of them gamma / k.

Single edges cannot be deleted. A sample does not determine which edges it would hold without an
edge that was deleted. Linear sketches of all edges do, but take n log^3 n numbers or more and
contain no edges.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from typing import Self

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import Budget, StreamOptions
from graphsqueak.sparsifiers.stream.base_stream import BaseStream
from graphsqueak.sparsifiers.stream.checkpoint import STREAM
from graphsqueak.sparsifiers.stream.engine import PracticalEngine
from graphsqueak.sparsifiers.stream.kelner_levin import kelner_levin_engine
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes
from graphsqueak.sparsifiers.stream.state import StreamConfig
from graphsqueak.system.packing import pack_bytes
from graphsqueak.validation import check_choice, check_real, explain_keywords


@explain_keywords()
class StreamSparsifier(BaseStream):
    """Spectral sparsifier of a graph whose edges arrive in batches.

    Use it if the edges do not fit in memory, or arrive one batch after the other: `partial_fit`
    processes a batch once, and `sparsifier` returns a sparsifier of all edges so far, at any time.
    Memory depends on the numbers of nodes and of edges kept, not on the length of the stream. For a
    graph that is complete, `sparsify` takes one call and can certify the result.

    Parameters
    ----------
    n_edges : int, optional
        Maximum number of edges of the sparsifier. At least 90 % of them are returned if it is 40 or
        more. Give exactly one of `n_edges`, `epsilon` and `keep`.
    epsilon : float, optional
        Predicted error of the sparsifier. Memory is that of 2 n / epsilon^2 edges, the number that
        a dense graph needs.
    keep : float, optional
        Fraction of the edges to keep.
    method : {"stream", "kelner-levin"}, default="stream"
        "stream" keeps a spanning forest, and with it the components of the graph. "kelner-levin" is
        Algorithm 11 of the thesis with its proof constants: no budget, no forest, and a guarantee
        for `epsilon` with probability 0.99. It needs thousands of copies per edge, so that it only
        drops edges of graphs with more edges per node than that.
    n_copies : int, optional
        Number of copies per edge for `method="kelner-levin"`, instead of `epsilon`. With few copies
        components may be lost.
    ridge : float, default=0.0
        A positive value gamma requests an (eps, gamma)-sparsifier. It may be less accurate where
        the spectrum of L lies below gamma, and needs fewer edges.
    priority_nodes : collection of ids, optional
        Nodes whose edges are oversampled, for example those with labels. Without ids in the
        batches, these are node numbers.
    priority_fraction : float, default=0.5
        Maximum fraction of the budget for edges at priority nodes.
    options : StreamOptions, optional
        Tuning parameters of `method="stream"`.
    random_state : int, Generator or None, default=None
        Seed. The result does not depend on the batches or on the number of threads.

    Attributes
    ----------
    n_edges_seen_ : int
        Edges processed so far.
    n_nodes_, n_components_ : int
        Nodes and connected components seen so far.
    n_kept_ : int
        Edges in memory.
    n_resparsifications_ : int
        Number of resparsifications.
    degrees_ : ndarray
        Exact weighted degrees of all nodes.
    budget_ : int
        Edges of the sparsifier if the stream ended now.
    epsilon_predicted_ : float
        Predicted error.
    is_exact_ : bool
        Whether no edge was dropped: the error is 0.
    cut_error_lower_ : float
        After `sparsifier()`, a lower bound of its error: the largest relative error of eight random
        cuts, or of a bottleneck cut that changed by more than chance. Infinite if components
        differ. NaN after a merge of streams that numbered nodes differently.
    ids_ : ndarray or None
        Ids of the nodes.

    See Also
    --------
    TimedSparsifier : Sliding windows and exponential decay.
    sparsify : One call for a whole graph, with a certificate.
    certify : Measure the error of a sparsifier.

    Notes
    -----
    Edges are sampled with probabilities proportional to their leverages, weight times effective
    resistance. When the sample exceeds a multiple of the budget, its resistances are estimated and
    it is sampled again. Streams of different edges can be merged, see `merge`. Their states can be
    saved and loaded (`save`, `load`).

    Examples
    --------
    >>> import graphsqueak as gs
    >>> edges = gs.sources.complete(300)
    >>> stream = StreamSparsifier(n_edges=4000, random_state=7)
    >>> for batch in edges:
    ...     _ = stream.partial_fit(batch)
    >>> stream.n_edges_seen_
    44850
    >>> stream.sparsifier().n_edges <= 4000
    True
    """

    kind = STREAM

    def __init__(
        self,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        method: str = "stream",
        n_copies: int | None = None,
        ridge: float = 0.0,
        priority_nodes: Collection | None = None,
        priority_fraction: float = PriorityNodes.fraction,
        options: StreamOptions | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            Budget(n_edges, epsilon, keep),
            priority_nodes=priority_nodes,
            priority_fraction=priority_fraction,
            options=options,
            random_state=random_state,
        )
        self.method = check_choice("method", method, ("stream", "kelner-levin"))
        self.n_copies = n_copies
        self.ridge = check_real("ridge", ridge, least=0.0, below=np.inf)
        self._engines[0] = self._new_engine(0)

    def _new_engine(self, number):
        if self.method == "stream":
            if self.n_copies is not None:
                raise InputError(
                    "n_copies is for ", Parameter("method", "kelner-levin"), "; leave it out"
                )
            config = StreamConfig(self._budget.validate(), self.options)
            return PracticalEngine(config, self._new_state(self._seed, ridge=self.ridge))
        if self.priority_nodes:
            raise InputError(
                "priority_nodes need ",
                Parameter("method", "stream"),
                "; leave them out or change the method",
            )
        if self.n_edges is not None or self.keep is not None or self.ridge > 0:
            raise InputError(
                Parameter("method", "kelner-levin"),
                " takes epsilon (or n_copies), no budget and no ridge",
            )
        return kelner_levin_engine(self.epsilon, self.n_copies, seed=self._seed)

    def partial_fit(self, batch: GraphLike) -> Self:
        """Process more edges.

        Parameters
        ----------
        batch : EdgeList or any graph
            Nodes may appear at any time. Batches with ids are matched by id; those without must
            number the same nodes alike.

        Returns
        -------
        self
        """
        self._check_not_consumed()
        self._result = None
        source = self._budget.sample_source(as_stream(batch))
        for part in source.batches():
            tail, head, n_nodes = self._numbering.apply(part)
            self._ingest_pane(0, tail, head, part.weight, n_nodes)
        return self

    def sparsifier(self, *, n_edges: int | None = None, consume: bool = False) -> EdgeList:
        """Return the sparsifier of all edges so far; the stream may go on afterwards.

        Parameters
        ----------
        n_edges : int, optional
            Number of edges. Default: as the parameters of the stream say.
        consume : bool
            End the stream and reuse its memory, which saves a third of it for large samples. The
            result is the same, and only the counters of the stream remain.

        Returns
        -------
        EdgeList
        """
        self._check_not_consumed()
        if self.n_nodes_ == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        if n_edges is not None and self.method == "kelner-levin":
            raise InputError(
                Parameter("n_edges"),
                " needs ",
                Parameter("method", "stream"),
                "; the Kelner-Levin method has no budget",
            )
        self._is_consumed = consume
        return self._finalize(self._engines[0], n_edges, consume=consume)

    def merge(self, *others: StreamSparsifier, random_state: RandomState = None) -> Self:
        """Return a stream that has seen the edges of all: parts of one graph, or several graphs.

        Degrees are added, components united and samples concatenated, which are resparsified if
        they are too large. Nodes are matched by id. Ridges add up, see the module.

        Parameters
        ----------
        *others : StreamSparsifier
            With the same method and options.
        random_state : int, Generator or None
            By default the random numbers that follow depend on those of the merged streams only.

        Returns
        -------
        StreamSparsifier
        """
        streams: list[StreamSparsifier] = [self, *others]
        ridge = sum(stream.ridge for stream in streams)
        return self._merge(streams, ["method"], random_state, ridge=ridge)

    def to_bytes(self) -> bytes:
        """Return a small state to be sent to another process and merged there.

        The sample is refiltered and coalesced, and the arrival filter is left out. A stream that
        continues from here keeps more edges at first than this one would.
        """
        self._engines[0].compact()
        return pack_bytes(*self._pack())

    @classmethod
    def from_bytes(cls, data: bytes, *, n_streams: int = 1) -> Self:
        """Return the stream of `to_bytes`, one of `n_streams` that share the memory limit."""
        stream = cls._read("the state", data)
        stream._engines[0].limit_memory(n_streams)
        return stream

    def lead(self) -> None:
        """Keep the arrival filter in `to_bytes`, for streams that continue this one."""
        self._engines[0].lead()

    def drop_edges(self) -> None:
        """Drop the sample before `to_bytes`, if only a `continuation` is made of the state."""
        self._engines[0].state.take_buffer()

    def continuation(self, *, ridge: float, seed: int) -> Self | None:
        """Return a stream of the following edges that has the arrival filter of this one.

        It has none of its edges, and replaces it. The result is None if no edge was dropped yet.

        Parameters
        ----------
        ridge : float
            Ridge of the following edges alone.
        seed : int
        """
        engine = self._engines[0]
        state = engine.state.continuation(ridge=ridge, seed=seed)
        if state is None:
            return None
        following = copy(self)
        following._engines = {0: PracticalEngine(engine.config, state)}
        following._seed = seed
        following.ridge = ridge
        return following

    @property
    def n_edges_seen_(self) -> int:
        """Edges processed so far."""
        return self._engines[0].state.n_seen

    @property
    def n_nodes_(self) -> int:
        """Nodes seen so far."""
        return self._engines[0].state.n_nodes

    def _whole_state(self):
        return self._engines[0].state

    def _final_budget(self):
        return self._engines[0].final_budget()
