"""The stream sparsifier: edges in, a small reweighted graph out, at any time.

H is an epsilon-sparsifier of G when (1 - eps) L_G <= L_H <= (1 + eps) L_G: every cut, every
quadratic form x' L x, every effective resistance agrees up to eps. All nodes stay.
"""

import warnings
from pathlib import Path

import numpy as np

from graphsqueak.errors import AccuracyWarning, InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.matching import Numbering
from graphsqueak.sources.edge_source import as_stream
from graphsqueak.sparsifiers.budget import Budget, StreamOptions, predicted_epsilon
from graphsqueak.sparsifiers.stream.arrival_filter import SHARE
from graphsqueak.sparsifiers.stream.engine import Engine
from graphsqueak.sparsifiers.stream.merging import check_alike, united_parts
from graphsqueak.sparsifiers.stream.probes import Probes
from graphsqueak.sparsifiers.stream.state import as_state, from_state
from graphsqueak.sparsifiers.stream.thesis import ThesisEngine, thesis_copies
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack, packed
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["StreamSparsifier"]

_MOST_EDGES = 10**12  # for which the thesis' guarantee is made when nothing is known beforehand
_SETTINGS = ("n_edges", "epsilon", "keep", "method", "n_copies", "ridge")
_SETTINGS += ("favored_nodes", "favored_share")


class StreamSparsifier:
    """One pass, fixed memory: a spectral sparsifier of all edges so far.

    Parameters
    ----------
    n_edges, epsilon, keep : exactly one
        Edges of the result (at most, and at least 0.9 of it if the graph has that many), or the
        accuracy from which their number is predicted, or their share of the edges seen.
    method : {"fast", "thesis"}
        "thesis" is Algorithm 11 with its proof constants: no budget, a guarantee for `epsilon`
        with probability 0.99, and thousands of copies per edge, so that only graphs with more
        edges per node than that are sparsified at all.
    n_copies : int, optional
        Copies of the thesis method, instead of `epsilon`.
    ridge : float
        gamma > 0 asks for an (eps, gamma)-sparsifier, which may be coarser where the spectrum of L
        lies below gamma and needs fewer edges.
    favored_nodes : sequence of node ids, optional
        Nodes whose edges get up to `favored_share` of the budget: all of them while they fit,
        a sample beyond. They have to be named before the stream. (Plain numbers where the edges
        carry no ids.)
    favored_share : float
    options : StreamOptions, optional
        Parts of the method, to be switched off for study.
    random_state : int or None
        Same seed, same bytes, whatever the batches and the number of threads.

    Attributes
    ----------
    n_edges_seen_, n_nodes_, n_shrinks_, n_kept_, budget_ : int
    degrees_ : ndarray
        Exact weighted degrees of everything seen.
    epsilon_predicted_ : float
    probe_error_ : float
        After `sparsifier()`: its largest error on eight random cuts that were weighed during the
        pass, a lower bound of epsilon; infinite if components differ, NaN if streams were merged
        that number their nodes differently.

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi
    >>> stream = StreamSparsifier(n_edges=4000, random_state=7)
    >>> for batch in erdos_renyi(500, 100_000, random_state=7):
    ...     _ = stream.partial_fit(batch)
    >>> H = stream.sparsifier()
    >>> 3600 <= H.n_edges <= 4000, H.n_nodes
    (True, 500)
    >>> bool(abs(H.weight.sum() / 100_000 - 1) < 0.01)
    True
    """

    def __init__(
        self,
        *,
        n_edges=None,
        epsilon=None,
        keep=None,
        method="fast",
        n_copies=None,
        ridge=0.0,
        favored_nodes=None,
        favored_share=SHARE,
        options=None,
        random_state=None,
    ):
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.method = check_choice("method", method, ("fast", "thesis"))
        self.n_copies = n_copies
        self.ridge = check_real("ridge", ridge, least=0.0, below=np.inf)
        self.favored_share = check_real("favored_share", favored_share, least=0.0, below=1.0)
        self.favored_nodes = _as_names(favored_nodes)
        self._wanted = frozenset(self.favored_nodes or ())
        self.options = StreamOptions() if options is None else options
        self.random_state = random_state
        self._engine = self._make_engine(_seed_from(random_state))
        self._numbering = Numbering()
        self._probes = Probes()
        self.note = {}  # a small record that is saved with the state

    def _make_engine(self, seed):
        if self.method == "fast":
            budget = Budget(self.n_edges, self.epsilon, self.keep).checked()
            engine = Engine(budget, self.options, ridge=self.ridge, seed=seed)
            engine.favored.share = self.favored_share
            return engine
        if self.favored_nodes:
            raise InputError("method='thesis' favors no nodes; use method='fast'")
        if self.n_edges is not None or self.keep is not None or self.ridge > 0:
            raise InputError("method='thesis' takes epsilon or n_copies, no budget and no ridge")
        n_copies = self.n_copies
        if n_copies is None:
            epsilon = Budget(None, self.epsilon, None).checked().epsilon
            n_copies = thesis_copies(epsilon, delta=0.01, n_nodes=_MOST_EDGES, n_shrinks=1)
        return ThesisEngine(check_count("n_copies", n_copies), seed=seed)

    def partial_fit(self, batch):
        """Take in more edges: an EdgeList, or anything that is a graph.

        Nodes may appear at any time. Batches that carry ids are matched by id; those without must
        number the same nodes alike.
        """
        for part in as_stream(batch):
            tail, head, n_nodes = self._numbering.apply(part)
            if self._wanted:
                self._engine.favored.meet(self._numbering, n_nodes, self._wanted)
            self._engine.absorb(tail, head, part.weight, n_nodes)
            self._probes.add(tail, head, part.weight, n_nodes)
        return self

    def sparsifier(self):
        """The sparsifier of all edges so far; the stream may go on afterwards."""
        if self.n_nodes_ == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        edges = self._engine.finished(self.budget_)
        ends = (edges.tail, edges.head, edges.weight)
        self.probe_error_ = self._probes.error(*ends, self.n_components_)
        if self.options.calibrate and self.probe_error_ > self.epsilon_predicted_:
            wrong = f"a random cut of it is off by {self.probe_error_:.2g}"
            if self.probe_error_ == np.inf:
                wrong = "a component has fallen apart"
            warnings.warn(
                AccuracyWarning(
                    f"the sparsifier is worse than predicted ({self.epsilon_predicted_:.2g}): "
                    f"{wrong}; keep more edges, and certify the result"
                ),
                stacklevel=2,
            )
        return EdgeList.from_clean(
            edges.tail, edges.head, edges.weight, self.n_nodes_, self._numbering.ids
        )

    def merge(self, *others, random_state=None):
        """A new stream that has seen the edges of all: parts of one graph, or of several.

        The sum of eps-sparsifiers of two graphs is an eps-sparsifier of their sum, so merging costs
        no accuracy; only the shrink that may follow does, one for all. Nodes are matched by id.
        By default the random numbers that follow depend on those of the merged streams alone.
        """
        streams = (self, *others)
        check_alike(streams)
        merged = StreamSparsifier(**self._settings(), options=self.options)
        merged.random_state = self.random_state if random_state is None else random_state
        parts = zip(*((s._engine, s._numbering, s._probes) for s in streams), strict=True)
        seed = None if random_state is None else _seed_from(random_state)
        merged._engine, merged._numbering, merged._probes = united_parts(*parts, seed=seed)
        merged._wanted = frozenset().union(*(s._wanted for s in streams))
        merged.favored_nodes = _as_names(merged._wanted) or None
        return merged

    def save(self, path):
        """Write a checkpoint, whole or not at all."""
        with atomic_file(path) as file:
            pack(file, *self._state())

    @classmethod
    def load(cls, path):
        """Go on from a checkpoint, to the same result as if there had been no stop."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            gone = isinstance(error, FileNotFoundError)
            reason = "does not exist" if gone else f"cannot be read: {error.strerror}"
            raise InputError(f"{path} {reason}; check the path of the checkpoint") from None
        return cls._from(data, path)

    def to_bytes(self):
        """What a checkpoint holds, made small to travel and to be merged.

        What is kept is swept and added up first, and the filter of the last shrink is left out, so
        a stream that goes on from here keeps more at first than this one would.
        """
        self._engine.settle()
        return packed(*self._state())

    @classmethod
    def from_bytes(cls, data, *, n_streams=1):
        """The stream that `to_bytes` gave; one of `n_streams` that share what memory allows."""
        stream = cls._from(data, "the state")
        stream._engine.make_room(n_streams)
        return stream

    def _state(self):
        state = (self._engine, self._numbering, self._probes)
        return as_state(self._settings(), self.options, *state, note=self.note)

    @classmethod
    def _from(cls, data, name):
        def make(**settings):
            stream = cls(**settings)
            return stream, stream._engine

        stream, stream._numbering, stream._probes, stream.note = from_state(data, name, make)
        return stream

    def set_ridge(self, ridge):
        """Ask for another ridge from now on; only a larger one is met by what is kept."""
        self.ridge = self._engine.ridge = ridge

    def _settings(self):
        return {name: getattr(self, name) for name in _SETTINGS}

    def same_seed(self, other):
        """Whether both streams draw the same random numbers."""
        return self._engine.seed == other._engine.seed

    @property
    def ids_(self):
        """The ids of all nodes seen so far; None where they are plain numbers."""
        ids = self._numbering.ids
        return None if ids is None else np.asarray(ids)[: self.n_nodes_]

    @property
    def n_edges_seen_(self):
        """Edges taken in so far."""
        return self._engine.n_seen

    @property
    def n_nodes_(self):
        """Nodes seen so far."""
        return self._engine.n_nodes

    @property
    def n_shrinks_(self):
        """How often the kept edges have been thinned."""
        return self._engine.n_shrinks

    @property
    def n_kept_(self):
        """Edges held at the moment."""
        return self._engine.n_kept

    @property
    def n_components_(self):
        """Connected components of everything seen."""
        return self.n_nodes_ - self._engine.n_joins

    @property
    def budget_(self):
        """Edges that the sparsifier may have now."""
        return self._engine.budget(self.n_nodes_, self.n_edges_seen_)

    @property
    def degrees_(self):
        """Exact weighted degrees of everything seen."""
        return self._engine.degree * self._engine.unit

    @property
    def epsilon_predicted_(self):
        """Accuracy to expect on a dense graph; measured only by a certificate."""
        return predicted_epsilon(self.n_nodes_, self.budget_)


def _as_names(nodes):
    """A list of plain ints and strings, which a checkpoint can hold."""
    return None if nodes is None else [n.item() if hasattr(n, "item") else n for n in nodes]


def _seed_from(random_state):
    return int(np.random.default_rng(random_state).integers(2**63))
