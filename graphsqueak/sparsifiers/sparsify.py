"""sparsify(): a graph or a stream in, its sparsifier out."""

import os

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.times import as_time_span
from graphsqueak.sparsifiers.baselines import (
    batch_sparsifier,
    kors_sparsifier,
    uniform_sparsifier,
)
from graphsqueak.sparsifiers.budget import Budget, StreamOptions
from graphsqueak.sparsifiers.config import METHODS, SparsifyConfig
from graphsqueak.sparsifiers.run import run_sparsify
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_choice

__all__ = ["sparsify"]

_IN_MEMORY = {"batch": batch_sparsifier, "uniform": uniform_sparsifier, "kors": kors_sparsifier}


def sparsify(
    graph: GraphLike,
    *,
    n_edges: int | None = None,
    epsilon: float | None = None,
    keep: float | None = None,
    method: str = "auto",
    ridge: float = 0.0,
    half_life: float | str | None = None,
    window: float | str | None = None,
    buckets: int = 16,
    options: StreamOptions | None = None,
    certify: bool | None = None,
    delta: float = 0.01,
    workers: int | None = None,
    scheduler: str | None = None,
    tree: str | int | None = None,
    n_parts: int | None = None,
    memory_limit: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    every: float = 60.0,
    resume: bool = False,
    random_state: RandomState = None,
    progress: Progress = False,
) -> EdgeList:
    """Return a small reweighted graph on the same nodes that behaves like `graph` up to (1 +- eps).

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
        Read once, batch by batch; with method="subgraph" once more, and held.
    n_edges, epsilon, keep : exactly one
        Edges of the result, or its accuracy, or their share of all edges.
    method : {"auto", "fast", "subgraph", "thesis", "batch", "uniform", "kors"}
        "auto" is "fast", the stream: one pass. Weights are scaled so that the total weight is the
        graph's and degrees are close to it. "subgraph" is for preconditioning with few edges: a
        forest of low stretch and the edges that it misses most. Its kappa is small, but all weights
        are the graph's times one factor, so that total weight, cuts and degrees are not preserved.
        It reads the graph twice and holds it. "thesis" streams with the constants of the thesis.
        The others hold the whole graph and are there to compare with: Spielman and Srivastava's
        sampling by resistances, uniform sampling, and insertion only.
    ridge : float
        gamma > 0 asks for an (eps, gamma)-sparsifier, which may be coarser where the spectrum of L
        lies below gamma and needs fewer edges.
    half_life : float or str, optional
        Time in which the weight of an edge falls to a half, in the unit of the times. Edges must
        have times (`read_edges(..., time=...)` or `TimedEdges`). A text such as "7d", "12h", "30m"
        or "45s" is in seconds and needs times that are dates or Unix seconds.
    window : float or str, optional
        Keep to the edges of the last `window` of time, up to one bucket more.
    buckets : int
        Parts into which a window is cut.
    options : StreamOptions, optional
        Parts of the fast method, to be switched off for study.
    certify : bool, optional
        Measure the accuracy by reading the graph again, once per step of the certificate, and put
        what is proved into `certificate` of the result. With `epsilon` and the fast method, up to
        four runs search for the fewest edges that meet it. Default: with `epsilon`, if the graph
        can be read again; from a pipe, the number of edges follows from the predicted error.
    delta : float
        The certificate may fail with this probability.
    workers : int, optional
        Run a merge tree over the parts of the input on so many processes of this machine. The edges
        must lie in files or in memory.
    scheduler : str, optional
        The same on the Dask cluster of a scheduler, by its address.
    tree : {"auto", "guided", "balanced", "sequential"} or int, optional
        Shape of the merge tree, or how many states a merge takes. "auto", the default with workers,
        is guided, or balanced with a memory limit. Without `workers` and `scheduler` the tree is
        run here.
    n_parts : int, optional
        About how many parts the tree has.
    memory_limit : int, optional
        Bytes that the process, or each worker, may take: the stream shrinks earlier to keep to
        them, and what cannot fit is refused before the run.
    checkpoint : path, optional
        File in which the state is saved now and then; of a tree, a folder for finished parts.
    every : float
        Seconds between two checkpoints.
    resume : bool
        Go on from `checkpoint`, if it is there, to the same result.
    random_state : int, Generator or None
        Same seed, same bytes, whatever the batches and the number of threads.
    progress : bool or callable
        True draws a bar; a function is called as progress(edges, fraction, note).

    Returns
    -------
    EdgeList
        With the ids of `graph`, and with `certificate`, a Certificate or None.

    Examples
    --------
    The complete graph on 300 nodes, with a tenth of its edges; all degrees are close to 299:

    >>> from graphsqueak.sources import complete
    >>> H = sparsify(complete(300), keep=0.1, random_state=7)
    >>> bool(H.n_edges <= 4485 and abs(H.degrees() / 299 - 1).max() < 0.02)
    True

    Or as many as a proved accuracy of one half needs:

    >>> H = sparsify(complete(300), epsilon=0.5, random_state=7)
    >>> bool(H.certificate.epsilon_upper <= 0.5 and H.n_edges <= 1.25 * 300 * (2 / 0.5) ** 2 / 2)
    True
    """
    check_choice("method", method, (*METHODS, *_IN_MEMORY))
    if method in _IN_MEMORY:
        if certify:
            raise InputError(f"method={method!r} is not certified here; call certify(graph, H)")
        edges = as_edge_list(graph)
        budget = Budget(n_edges, epsilon, keep).validate()(edges.n_nodes, edges.n_edges)
        seed = int(np.random.default_rng(random_state).integers(2**63))
        return _IN_MEMORY[method](edges, budget, seed=seed)
    source = as_stream(graph)
    is_timed = half_life is not None or window is not None
    if keep is not None and isinstance(source, EdgeList) and not is_timed:  # their number is known
        n_edges = Budget(n_edges, epsilon, keep).validate()(source.n_nodes, source.n_edges)
        keep = None
    config = SparsifyConfig(
        n_edges=n_edges,
        epsilon=epsilon,
        keep=keep,
        method=method,
        ridge=ridge,
        half_life=as_time_span("half_life", half_life),
        window=as_time_span("window", window),
        buckets=buckets,
        options=StreamOptions() if options is None else options,
        certify=certify,
        delta=delta,
        workers=workers,
        scheduler=scheduler,
        tree=tree,
        n_parts=n_parts,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
        every=every,
        resume=resume,
        random_state=random_state,
        progress=progress,
    )
    result = run_sparsify(source, config)
    return result.sparsifier.in_id_order().with_certificate(result.certificate)
