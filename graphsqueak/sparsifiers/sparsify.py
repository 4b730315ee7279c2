"""sparsify(): a graph or a stream in, its sparsifier out."""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import as_edge_list, as_stream
from graphsqueak.sparsifiers.baselines import batch_sparsifier, kors_sparsifier, uniform_sparsifier
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.run import corrected, run_stream
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.tree.parts import runs_in_parts, sparsify_parts
from graphsqueak.validation import check_choice

__all__ = ["sparsify"]

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
    certify=None,
    delta=0.01,
    workers=None,
    scheduler=None,
    tree=None,
    n_parts=None,
    memory_limit=None,
    checkpoint=None,
    resume=False,
    random_state=None,
    progress=False,
):
    """A small reweighted graph on the same nodes that behaves like `graph` up to (1 +- eps).

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
        Read once, batch by batch.
    n_edges, epsilon, keep : exactly one
        Edges of the result, or its accuracy, or their share of all edges.
    method : {"fast", "thesis", "batch", "uniform", "kors"}
        The first two stream. The others hold the whole graph and are there to compare with:
        Spielman and Srivastava's sampling by resistances, uniform sampling, and insertion only.
    ridge, options, random_state
        As of `StreamSparsifier`.
    certify : bool, optional
        Measure the accuracy by reading the graph again, once per step of the certificate, and put
        what is proved into `certificate` of the result. With `epsilon` and the fast method, run
        again with more edges while it is missed. Default: with `epsilon`, if the graph can be read
        again; from a pipe, epsilon is only predicted (for dense graphs, n (2 / eps)^2 / 2 edges).
    delta : float
        The certificate may fail with this probability.
    workers, scheduler, tree, n_parts, memory_limit, checkpoint, resume
        Any of the first three makes it a merge tree over the parts of the input, on `workers`
        processes of this machine, on the Dask cluster of a `scheduler`, or here: see
        `graphsqueak.sparsifiers.tree.parts.sparsify_parts`. The edges must lie in files or memory.
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
    >>> bool(H.n_edges <= 4485 and abs(H.degrees() / 299 - 1).max() < 0.01)
    True

    Or as many as a proved accuracy of one half needs:

    >>> H = sparsify(complete(300), epsilon=0.5, random_state=7)
    >>> bool(H.certificate.epsilon_upper <= 0.5 and H.n_edges <= 1.25 * 300 * (2 / 0.5) ** 2 / 2)
    True
    """
    if method in _IN_MEMORY:
        if certify:
            raise InputError(f"method={method!r} is not certified here; call certify(graph, H)")
        edges = as_edge_list(graph)
        budget = Budget(n_edges, epsilon, keep).checked()(edges.n_nodes, edges.n_edges)
        seed = int(np.random.default_rng(random_state).integers(2**63))
        return _IN_MEMORY[method](edges, budget, seed=seed)
    check_choice("method", method, ("fast", "thesis", *_IN_MEMORY))
    source = as_stream(graph)
    if keep is not None and isinstance(source, EdgeList):  # the number of edges is known
        n_edges = Budget(n_edges, epsilon, keep).checked()(source.n_nodes, source.n_edges)
        keep = None
    settings = {"n_edges": n_edges, "epsilon": epsilon, "keep": keep}
    settings |= {"method": method, "ridge": ridge}
    how = {"options": options, "random_state": random_state, "progress": progress}
    where = {"workers": workers, "scheduler": scheduler, "tree": tree, "n_parts": n_parts}
    where |= {"memory_limit": memory_limit, "checkpoint": checkpoint, "resume": resume}
    stream, rerun = _run(source, settings, how, where)
    goal = epsilon if method == "fast" else None
    if certify is None:
        certify = goal is not None and getattr(source, "is_rereadable", True)
    if not certify:
        return stream.sparsifier()
    made = corrected(
        source,
        stream,
        epsilon=goal,
        delta=delta,
        random_state=random_state,
        progress=progress,
        rerun=rerun,
    )
    return made.sparsifier.with_certificate(made.certificate)


def _run(source, settings, how, where):
    """A stream that has seen all of `source`, and how to make one of another number of edges."""
    if runs_in_parts(**where):
        grown = sparsify_parts(source, settings, **how, **where)
        return grown.stream, grown.rerun
    stream = StreamSparsifier(**settings, options=how["options"], random_state=how["random_state"])
    return run_stream(stream, source, progress=how["progress"]), None
