"""What the stream sparsifier does beyond Algorithm 11, each switchable for study."""

from dataclasses import dataclass, fields

from graphsqueak.sparsify.costs import edges_within
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["StreamOptions"]


@dataclass(frozen=True)
class StreamOptions:
    """Parts of the fast method; the defaults are what measured best.

    Parameters
    ----------
    filter_arrivals : bool
        Sample every edge when it arrives, by the resistances of the last shrink.
    n_copies : int
        Parts into which a new edge is cut, to be thinned apart. 1 is a Bernoulli coin per edge;
        the thesis has thousands of copies and a binomial draw.
    pin_forest : bool
        Never thin the edges that first joined two components: the sparsifier then has exactly
        the components of the graph.
    clamp : bool
        Keep sketched resistances between their degree bound and 1 / w.
    calibrate : bool
        At the end, scale the weights so that all degrees match the graph's own.
    keep_degrees : bool
        In the last shrink, thin by a rounding that keeps degrees instead of by independent coins
        (one copy only).
    n_probes, final_probes : int
        Right-hand sides of the sketch during the stream and in the last shrink.
    room, target : float
        Shrink when more than room * budget edges are kept, to target * budget.
    memory_limit : int, optional
        Bytes that a process with this stream may take, by `costs.stream_bytes`: where `room` would
        take more, shrink earlier. Not below the forest: that much is needed.
    """

    filter_arrivals: bool = True
    n_copies: int = 1
    pin_forest: bool = True
    clamp: bool = True
    calibrate: bool = True
    keep_degrees: bool = True
    n_probes: int = 8
    final_probes: int = 16
    room: float = 3.0
    target: float = 1.5
    memory_limit: int | None = None

    def __post_init__(self):
        for field in fields(self):
            if field.type is bool:
                check_choice(field.name, getattr(self, field.name), (True, False))
        if self.memory_limit is not None:
            check_count("memory_limit", self.memory_limit)
        check_count("n_copies", self.n_copies)
        check_count("n_probes", self.n_probes)
        check_count("final_probes", self.final_probes)
        check_real("target", self.target, least=1.0)
        check_real("room", self.room, above=self.target)

    def most_kept(self, budget, n_nodes):
        """Edges beyond which to shrink, and how many to leave."""
        most = self.room * budget
        if self.memory_limit is not None:
            most = min(most, edges_within(self.memory_limit, n_nodes))
        return most, min(self.target * budget, most / self.room * self.target)

    def bits(self, n_bits):
        """Digits of a rounding that keeps degrees, 0 for coins: only whole edges can be rounded."""
        return n_bits if self.keep_degrees and self.n_copies == 1 else 0
