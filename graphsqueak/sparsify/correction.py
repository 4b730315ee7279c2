"""From a predicted accuracy to a proved one: certify, and spend more edges where it was missed.

The prediction eps = sqrt(2 n / n_edges) holds for dense graphs. Elsewhere the measured accuracy
says by how much to correct: it falls like 1 / sqrt(n_edges) or faster.
"""

import math
from typing import NamedTuple

from graphsqueak.graph import EdgeList
from graphsqueak.sparsify.certificate import Certificate
from graphsqueak.sparsify.certifying import certify
from graphsqueak.sparsify.running import run_stream
from graphsqueak.sparsify.stream import StreamSparsifier

__all__ = ["Corrected", "corrected"]

_LEAST_GROWTH, _MOST_GROWTH = 1.1, 4.0
_MARGIN = 1.03  # more edges than the measured accuracy asks for


class Corrected(NamedTuple):
    """A sparsifier, what is proved about it, the stream that made it, and how many were made."""

    sparsifier: EdgeList
    certificate: Certificate
    stream: StreamSparsifier
    n_runs: int


def corrected(
    source,
    stream,
    *,
    epsilon=None,
    delta=0.01,
    steps=None,
    random_state=None,
    progress=False,
    rerun=None,
):
    """Certify what `stream` made of `source`; while `epsilon` is missed, run again with more edges.

    The certificate of run i may fail with probability delta / 2^i, so that what is returned meets
    epsilon with probability 1 - delta. When the budget holds all edges, epsilon is 0: it ends.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        Readable again.
    stream : StreamSparsifier
        It has seen all of `source`.
    epsilon : float, optional
        Default: certify once, whatever comes out.
    delta, steps, random_state, progress
        As of `certify`.
    rerun : callable, optional
        rerun(n_edges) gives a stream that has seen all of `source`. Default: one pass.

    Returns
    -------
    Corrected

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    >>> result = corrected(complete(200), stream, epsilon=0.5)
    >>> result.certificate.meets(0.5), result.n_runs > 1
    (True, True)
    """
    n_runs = 1
    while True:
        sparsifier = stream.sparsifier()
        certificate = certify(
            source,
            sparsifier,
            delta=delta if epsilon is None else delta / 2**n_runs,
            steps=steps,
            ridge=stream.ridge,
            goal=epsilon,
            random_state=random_state,
            progress=progress,
        )
        if epsilon is None or certificate.meets(epsilon):
            return Corrected(sparsifier, certificate, stream, n_runs)
        n_edges = math.ceil(_growth(certificate, epsilon) * sparsifier.n_edges)
        again = _one_pass(source, stream, progress) if rerun is None else rerun
        stream = again(n_edges)
        n_runs += 1


def _one_pass(source, stream, progress):
    def rerun(n_edges):
        how = {"ridge": stream.ridge, "options": stream.options}
        fresh = StreamSparsifier(n_edges=n_edges, **how, random_state=stream.random_state)
        return run_stream(fresh, source, progress=progress)

    return rerun


def _growth(certificate, epsilon):
    """By how much more edges are needed."""
    error = certificate.epsilon_upper
    if not math.isfinite(error):
        error = 2 * certificate.epsilon_lower
    return min(max(_MARGIN * (error / epsilon) ** 2, _LEAST_GROWTH), _MOST_GROWTH)
