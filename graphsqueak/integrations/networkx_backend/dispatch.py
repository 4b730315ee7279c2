"""What networkx asks before it asks for an answer: what is there, and whether it can be done."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["can_run", "get_info", "should_run"]

_FEWEST_NODES = 50  # below, the way here takes longer than the work
_SIMPLE = (  # not of parallel edges, by their definition in networkx
    "approximate_current_flow_betweenness_centrality",
    "current_flow_betweenness_centrality",
    "second_order_centrality",
)
_TOL = {"tol : float": "Relative residual of the solves, where the graph is large."}
_SKETCH = {
    'method : {"exact", "sketch"}': "A sketch is within some percent, and answers for many nodes.",
    **_TOL,
}
_FUNCTIONS: dict[str, dict] = {
    "algebraic_connectivity": {},
    "approximate_current_flow_betweenness_centrality": _TOL,
    "current_flow_betweenness_centrality": {},
    "current_flow_closeness_centrality": _SKETCH,
    "effective_graph_resistance": {},
    "fiedler_vector": {},
    "harmonic_function": {},
    "kemeny_constant": {},
    "laplacian_spectrum": {},
    "local_and_global_consistency": {},
    "number_of_spanning_trees": {},
    "resistance_distance": _SKETCH,
    "second_order_centrality": {},
    "spectral_bisection": {},
    "spectral_ordering": {},
}


def get_info() -> dict[str, Any]:
    """What networkx shows of this backend; asked for when networkx is imported, so it is light.

    >>> get_info()["backend_name"]
    'graphsqueak'
    """
    return {
        "backend_name": "graphsqueak",
        "project": "graphsqueak",
        "package": "graphsqueak",
        "short_summary": "Resistances, current flow, Fiedler vectors, labels of nodes.",
        "functions": {
            name: {"additional_parameters": more} if more else {}
            for name, more in _FUNCTIONS.items()
        },
    }


def can_run(name: str, args: Sequence, kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call can be answered as networkx does; if not, the reason.

    Parameters
    ----------
    name : str
        Of a function of networkx.
    args, kwargs
        What it was called with.

    Examples
    --------
    >>> import networkx as nx
    >>> can_run("resistance_distance", [nx.path_graph(3)], {})
    True
    >>> can_run("spectral_ordering", [nx.DiGraph()], {})
    'the graph is directed'
    """
    given = _bound(name, args, kwargs)
    graph = given["G"]
    if graph.is_directed():
        return "the graph is directed"
    if graph.is_multigraph() and name in _SIMPLE:
        return "the graph has parallel edges"
    if given.get("dtype", float) is not float:
        return "numbers are of double precision"
    if given.get("solver", "lu") not in ("full", "lu", "cg"):
        return f"there is no solver {given['solver']!r}"
    if name == "second_order_centrality" and given.get("weight", "weight") != "weight":
        return "weights are read from the attribute weight"
    return True


def should_run(name: str, args: Sequence, kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call is worth the way here; if not, the reason.

    Parameters
    ----------
    name : str
        Of a function of networkx.
    args, kwargs
        What it was called with.
    """
    if len(_bound(name, args, kwargs)["G"]) < _FEWEST_NODES:
        return f"the graph has fewer than {_FEWEST_NODES} nodes"
    return True


def _bound(name, args, kwargs):
    """The arguments by name."""
    import graphsqueak.integrations.networkx_backend as backend

    return inspect.signature(getattr(backend, name)).bind_partial(*args, **kwargs).arguments
