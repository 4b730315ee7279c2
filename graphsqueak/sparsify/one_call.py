"""sparsify(): a graph or a stream in, its sparsifier out."""

import time

import numpy as np

from graphsqueak.report.progress import reporter
from graphsqueak.sources.coerce import as_edge_list, as_stream
from graphsqueak.sources.forest import add_degrees
from graphsqueak.sparsify.baselines import (
    batch_sparsifier,
    kors_sparsifier,
    uniform_sparsifier,
)
from graphsqueak.sparsify.budget import Budget
from graphsqueak.sparsify.stream import StreamSparsifier
from graphsqueak.validation import InputError, check_choice

__all__ = ["run_stream", "sparsify"]

_IN_MEMORY = {"batch": batch_sparsifier, "uniform": uniform_sparsifier, "kors": kors_sparsifier}


def sparsify(
    graph,
    *,
    n_edges=None,
    epsilon=None,
    keep=None,
    method="fast",
    ridge=0.0,
    options=None,
    random_state=None,
    progress=False,
):
    """A small reweighted graph on the same nodes that behaves like `graph` up to (1 +- eps).

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
        Read once, batch by batch.
    n_edges, epsilon, keep : exactly one
        Edges of the result, or the accuracy from which their number is predicted (on dense
        graphs, n (2 / eps)^2 / 2), or their share of all edges.
    method : {"fast", "thesis", "batch", "uniform", "kors"}
        The first two stream. The others hold the whole graph and are there to compare with:
        Spielman and Srivastava's sampling by resistances, uniform sampling, and insertion only.
    ridge, options, random_state
        As of `StreamSparsifier`.
    progress : bool or callable
        True draws a bar; a function is called as progress(edges, fraction, note).

    Returns
    -------
    EdgeList
        With the ids of `graph`.

    Examples
    --------
    The complete graph on 300 nodes, with a tenth of its edges; all degrees are close to 299:

    >>> from graphsqueak.sources import complete
    >>> H = sparsify(complete(300), keep=0.1, random_state=7)
    >>> bool(H.n_edges <= 4485 and abs(H.degrees() / 299 - 1).max() < 0.01)
    True
    """
    if method in _IN_MEMORY:
        edges = as_edge_list(graph)
        budget = Budget(n_edges, epsilon, keep).checked()(edges.n_nodes, edges.n_edges)
        seed = int(np.random.default_rng(random_state).integers(2**63))
        return _IN_MEMORY[method](edges, budget, seed=seed)
    check_choice("method", method, ("fast", "thesis", *_IN_MEMORY))
    stream = StreamSparsifier(
        n_edges=n_edges,
        epsilon=epsilon,
        keep=keep,
        method=method,
        ridge=ridge,
        options=options,
        random_state=random_state,
    )
    return run_stream(stream, as_stream(graph), progress=progress).sparsifier()


def run_stream(stream, source, *, progress=False, checkpoint=None, every=60.0):
    """Feed all batches of `source` to `stream`, from where it stands.

    A stream that has seen edges already (a loaded checkpoint) skips them, after checking by
    their degrees that they are the same. With `checkpoint`, its state is saved every `every`
    seconds.
    """
    n_skip = stream.n_edges_seen_
    skipped = np.zeros(stream.n_nodes_)
    n_read, saved = 0, time.monotonic()
    with reporter(progress, "sparsifying") as report:
        for batch in source:
            n_old = min(n_skip - n_read, batch.n_edges) if n_read < n_skip else 0
            if n_old:
                _add(skipped, batch, n_old, stream)
            n_read += batch.n_edges
            if n_read >= n_skip and n_old:
                _check_same(skipped, stream)
            if n_old < batch.n_edges:
                stream.partial_fit(batch.part(n_old))
            report(n_read, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
            if checkpoint and n_read > n_skip and time.monotonic() - saved > every:
                stream.save(checkpoint)
                saved = time.monotonic()
    if n_read < n_skip:
        raise InputError(
            f"the checkpoint has seen {n_skip:,} edges, the input holds {n_read:,}; "
            "it belongs to another input"
        )
    return stream


def _add(degree, batch, n_old, stream):
    tail, head = batch.tail[:n_old], batch.head[:n_old]
    if n_old and max(tail.max(), head.max()) >= degree.size:
        raise _another_input(stream)
    add_degrees(degree, tail, head, batch.weight[:n_old])


def _check_same(degree, stream):
    if not np.array_equal(degree, stream.degrees_):
        raise _another_input(stream)


def _another_input(stream):
    return InputError(
        f"the first {stream.n_edges_seen_:,} edges of the input are not those that the checkpoint "
        "has seen; it belongs to another input"
    )
