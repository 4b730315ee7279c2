"""Functions of the backend, and for which calls networkx may and should use them."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

# For smaller graphs, the conversion takes longer than networkx. Documented in
# docs/howto/load_data.md. The effect of half or twice as many was not measured.
MIN_NODES = 50
# Parallel edges are not part of their definition in networkx.
NOT_FOR_MULTIGRAPHS = (
    "approximate_current_flow_betweenness_centrality",
    "current_flow_betweenness_centrality",
    "second_order_centrality",
)
_TOL = {"tol : float": "Relative residual of the linear solves on large graphs."}
_SKETCH = {
    'method : {"exact", "sketch"}': "A sketch has errors of some percent, and is faster.",
    **_TOL,
}
# Parameters that networkx does not have.
ADDITIONAL_PARAMETERS = {
    "approximate_current_flow_betweenness_centrality": _TOL,
    "current_flow_closeness_centrality": _SKETCH,
    "resistance_distance": _SKETCH,
}
# Names of the backend that are not functions of networkx.
_INTERFACE = {
    *("BackendGraph", "can_run", "convert_from_nx", "convert_to_nx", "get_info", "should_run"),
}


def get_info() -> dict[str, Any]:
    """Describe the backend. networkx calls this function on import, so that it must be fast.

    >>> get_info()["backend_name"]
    'graphsqueak'
    """
    import graphsqueak.integrations.networkx_backend as backend

    return {
        "backend_name": "graphsqueak",
        "project": "graphsqueak",
        "package": "graphsqueak",
        "short_summary": "Resistances, current flow, Fiedler vectors, labels of nodes.",
        "functions": {
            name: {"additional_parameters": ADDITIONAL_PARAMETERS.get(name, {})}
            for name in sorted({*backend.__all__} - _INTERFACE)
        },
    }


def can_run(name: str, args: Sequence, kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether the backend gives the result of networkx for a call; if not, the reason.

    Parameters
    ----------
    name : str
        Function of networkx.
    args, kwargs
        Arguments of the call.

    Examples
    --------
    >>> import networkx as nx
    >>> can_run("resistance_distance", [nx.path_graph(3)], {})
    True
    >>> can_run("spectral_ordering", [nx.DiGraph()], {})
    'the graph is directed'
    """
    arguments = _arguments(name, args, kwargs)
    graph = arguments["G"]
    if graph.is_directed():
        return "the graph is directed"
    if graph.is_multigraph() and name in NOT_FOR_MULTIGRAPHS:
        return "the graph has parallel edges"
    if arguments.get("dtype", float) is not float:
        return "only double precision is supported"
    if arguments.get("solver", "lu") not in ("full", "lu", "cg"):
        return f"there is no solver {arguments['solver']!r}"
    if name == "second_order_centrality" and arguments.get("weight", "weight") != "weight":
        return "only the edge attribute 'weight' is supported"
    return True


def should_run(name: str, args: Sequence, kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether the backend is faster than networkx for a call; if not, the reason.

    Parameters
    ----------
    name : str
        Function of networkx.
    args, kwargs
        Arguments of the call.
    """
    if len(_arguments(name, args, kwargs)["G"]) < MIN_NODES:
        return f"the graph has fewer than {MIN_NODES} nodes"
    return True


def _arguments(name, args, kwargs):
    """Return the arguments of a call by name."""
    import graphsqueak.integrations.networkx_backend as backend

    return inspect.signature(getattr(backend, name)).bind_partial(*args, **kwargs).arguments
