"""networkx backend: `nx.resistance_distance(G, backend="graphsqueak")`.

networkx finds this package by its entry point. It converts graphs with `convert_from_nx` and calls
functions by name. Results are those of networkx, to its tolerance. Calls that the backend does not
support (directed graphs, negative weights) are left to networkx.
"""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BackendGraph": "graph",
        "algebraic_connectivity": "spectra",
        "approximate_current_flow_betweenness_centrality": "current_flow",
        "can_run": "dispatch",
        "convert_from_nx": "graph",
        "convert_to_nx": "graph",
        "current_flow_betweenness_centrality": "current_flow",
        "current_flow_closeness_centrality": "current_flow",
        "effective_graph_resistance": "resistances",
        "fiedler_vector": "spectra",
        "get_info": "dispatch",
        "harmonic_function": "classification",
        "kemeny_constant": "resistances",
        "laplacian_spectrum": "spectra",
        "local_and_global_consistency": "classification",
        "number_of_spanning_trees": "spectra",
        "resistance_distance": "resistances",
        "second_order_centrality": "current_flow",
        "should_run": "dispatch",
        "spectral_bisection": "spectra",
        "spectral_ordering": "spectra",
    },
)
