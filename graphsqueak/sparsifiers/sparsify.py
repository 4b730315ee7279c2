"""The public function `sparsify`."""

from __future__ import annotations

import os

from graphsqueak.errors import InputError, Parameter
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
from graphsqueak.sparsifiers.stream.base_stream import seed_from
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_choice, explain_keywords

# Baselines, which need the whole graph in memory.
_BASELINES = {"batch": batch_sparsifier, "uniform": uniform_sparsifier, "kors": kors_sparsifier}


@explain_keywords(positional="sparsify(graph, keep=0.1) or sparsify(graph, n_edges=1000)")
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
    n_panes: int = 16,
    options: StreamOptions | None = None,
    certify: bool | None = None,
    delta: float = 0.01,
    workers: int | None = None,
    scheduler: str | None = None,
    tree: str | int | None = None,
    n_parts: int | None = None,
    memory_limit: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_interval: float = 60.0,
    resume: bool = False,
    random_state: RandomState = None,
    progress: Progress = False,
) -> EdgeList:
    """Sparsify a graph: return a small reweighted graph with nearly the same Laplacian.

    Use it if an algorithm is too slow on all edges of a graph, or if they do not fit in memory. The
    result H has the nodes of the graph G and satisfies

        (1 - eps) x' L_G x  <=  x' L_H x  <=  (1 + eps) x' L_G x

    for all vectors x: cuts, effective resistances and eigenvalues change by a factor of at most
    1 +- eps.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, table, scipy sparse adjacency, networkx or igraph graph
        Read in one pass, batch by batch. `method="subgraph"` and certificates take further passes.
    n_edges : int, optional
        Number of edges of the result. Give exactly one of `n_edges`, `epsilon` and `keep`.
    epsilon : float, optional
        Error eps of the result, between 0 and 1.
    keep : float, optional
        Fraction of the edges to keep.
    method : str, default="auto"
        Algorithm: "auto", "stream", "subgraph", "kelner-levin", "batch", "uniform" or "kors".

        - "auto" is "stream".
        - "stream" samples a stream in one pass. The total weight is that of the graph, and degrees
          are nearly preserved.
        - "subgraph" chooses a low-stretch spanning forest and off-tree edges, for preconditioning
          with few edges. Its condition number kappa is small. All weights are multiplied by one
          factor, so total weight, cuts and degrees are not preserved. It takes two passes, and the
          graph must fit in memory.
        - "kelner-levin" is the stream of Kelner and Levin with the constants of its proof.
        - "batch", "uniform" and "kors" are baselines, for graphs in memory: sampling by effective
          resistances (Spielman and Srivastava), uniform sampling, and insertion-only sampling.
    ridge : float, default=0.0
        A positive value gamma requests an (eps, gamma)-sparsifier. It may be less accurate where
        the spectrum of L lies below gamma, and needs fewer edges.
    half_life : float or str, optional
        Time in which the weight of an edge decays to one half, in the unit of the times. Edges must
        have times (`read_edges(..., time=...)` or `TimedEdges`). Text such as "7d", "12h", "30m" or
        "45s" is a duration in seconds, for times that are dates or Unix seconds.
    window : float or str, optional
        Length of a sliding window: only edges of the last `window` of time are kept, and at most
        one pane more.
    n_panes : int, default=16
        Number of panes of the sliding window.
    options : StreamOptions, optional
        Options of the method "stream".
    certify : bool, optional
        Whether to measure the error, in one pass over the graph per iteration, and store it in
        `certificate` of the result. With `epsilon` and the method "stream", up to four runs search
        for the fewest edges that meet `epsilon`. Default: True with `epsilon`, if the graph can be
        read more than once. For a pipe, the number of edges follows from the predicted error.
    delta : float, default=0.01
        Failure probability of the certificate.
    workers : int, optional
        Number of processes of this machine that sparsify parts of the input, which are then merged.
        The edges must be in files or in memory.
    scheduler : str, optional
        Address of a Dask scheduler, to sparsify the parts on its cluster.
    tree : {"auto", "guided", "balanced", "sequential"} or int, optional
        Shape of the merge tree, or the number of states per merge. "auto", the default with
        workers, is guided, or balanced with a memory limit. Without `workers` and `scheduler` the
        tree is processed in this process.
    n_parts : int, optional
        Approximate number of parts of the tree.
    memory_limit : int, optional
        Memory of this process, or of each worker, in bytes. The stream resparsifies earlier to stay
        below it. A budget that does not fit raises an error before the run.
    checkpoint : path, optional
        File in which the state is saved periodically. For a tree, a folder for finished parts.
    checkpoint_interval : float, default=60.0
        Seconds between two checkpoints.
    resume : bool, default=False
        Continue from `checkpoint`, if it exists. The result is the same as without interruption.
    random_state : int, Generator or None
        Seed. Results are bit-for-bit reproducible, for any batches and any number of threads.
    progress : bool or callable, default=False
        True shows a progress bar. A function is called as progress(edges, fraction, note).

    Returns
    -------
    EdgeList
        The sparsifier, with the ids of `graph`. Its attribute `certificate` is a Certificate or
        None.

    Raises
    ------
    InputError
        If parameters are invalid or inconsistent.

    See Also
    --------
    StreamSparsifier : Sparsifier of a stream, updated batch by batch.
    certify : Measure the error of any sparsifier.

    Examples
    --------
    Keep 10 % of the edges of the complete graph on 300 nodes. All degrees stay close to 299:

    >>> from graphsqueak.sources import complete
    >>> H = sparsify(complete(300), keep=0.1, random_state=7)
    >>> bool(H.n_edges <= 4485 and abs(H.degrees() / 299 - 1).max() < 0.02)
    True

    Keep as few edges as a certified error of 0.5 needs:

    >>> H = sparsify(complete(300), epsilon=0.5, random_state=7)
    >>> bool(H.certificate.epsilon_upper <= 0.5 and H.n_edges <= 1.25 * 300 * (2 / 0.5) ** 2 / 2)
    True
    """
    check_choice("method", method, (*METHODS, *_BASELINES))
    budget = Budget(n_edges, epsilon, keep).validate()
    if method in _BASELINES:
        if certify:
            raise InputError(
                Parameter("method", method),
                " has no ",
                Parameter("certify", True),
                "; call certify(graph, H)",
            )
        edges = as_edge_list(graph)
        n_kept = budget(edges.n_nodes, edges.n_edges)
        return _BASELINES[method](edges, n_kept, seed=seed_from(random_state))
    source = as_stream(graph)
    is_timed = half_life is not None or window is not None
    if keep is not None and isinstance(source, EdgeList) and not is_timed:
        # The length of this stream is known, so a fraction is a number of edges.
        n_edges = budget(source.n_nodes, source.n_edges)
        keep = None
    config = SparsifyConfig(
        n_edges=n_edges,
        epsilon=epsilon,
        keep=keep,
        method=method,
        ridge=ridge,
        half_life=as_time_span("half_life", half_life),
        window=as_time_span("window", window),
        n_panes=n_panes,
        options=StreamOptions() if options is None else options,
        certify=certify,
        delta=delta,
        workers=workers,
        scheduler=scheduler,
        tree=tree,
        n_parts=n_parts,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
        checkpoint_interval=checkpoint_interval,
        resume=resume,
        random_state=random_state,
        progress=progress,
    )
    result = run_sparsify(source, config)
    return result.sparsifier.in_id_order().with_certificate(result.certificate)
