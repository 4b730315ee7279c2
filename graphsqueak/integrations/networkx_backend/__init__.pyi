# written by docs/generate.py; do not edit
from graphsqueak.integrations.networkx_backend.classification import harmonic_function as harmonic_function
from graphsqueak.integrations.networkx_backend.classification import local_and_global_consistency as local_and_global_consistency
from graphsqueak.integrations.networkx_backend.current_flow import approximate_current_flow_betweenness_centrality as approximate_current_flow_betweenness_centrality
from graphsqueak.integrations.networkx_backend.current_flow import current_flow_betweenness_centrality as current_flow_betweenness_centrality
from graphsqueak.integrations.networkx_backend.current_flow import current_flow_closeness_centrality as current_flow_closeness_centrality
from graphsqueak.integrations.networkx_backend.current_flow import second_order_centrality as second_order_centrality
from graphsqueak.integrations.networkx_backend.dispatch import can_run as can_run
from graphsqueak.integrations.networkx_backend.dispatch import get_info as get_info
from graphsqueak.integrations.networkx_backend.dispatch import should_run as should_run
from graphsqueak.integrations.networkx_backend.graph import BackendGraph as BackendGraph
from graphsqueak.integrations.networkx_backend.graph import convert_from_nx as convert_from_nx
from graphsqueak.integrations.networkx_backend.graph import convert_to_nx as convert_to_nx
from graphsqueak.integrations.networkx_backend.resistances import effective_graph_resistance as effective_graph_resistance
from graphsqueak.integrations.networkx_backend.resistances import kemeny_constant as kemeny_constant
from graphsqueak.integrations.networkx_backend.resistances import resistance_distance as resistance_distance
from graphsqueak.integrations.networkx_backend.spectra import algebraic_connectivity as algebraic_connectivity
from graphsqueak.integrations.networkx_backend.spectra import fiedler_vector as fiedler_vector
from graphsqueak.integrations.networkx_backend.spectra import laplacian_spectrum as laplacian_spectrum
from graphsqueak.integrations.networkx_backend.spectra import number_of_spanning_trees as number_of_spanning_trees
from graphsqueak.integrations.networkx_backend.spectra import spectral_bisection as spectral_bisection
from graphsqueak.integrations.networkx_backend.spectra import spectral_ordering as spectral_ordering

__all__ = [
    "BackendGraph",
    "algebraic_connectivity",
    "approximate_current_flow_betweenness_centrality",
    "can_run",
    "convert_from_nx",
    "convert_to_nx",
    "current_flow_betweenness_centrality",
    "current_flow_closeness_centrality",
    "effective_graph_resistance",
    "fiedler_vector",
    "get_info",
    "harmonic_function",
    "kemeny_constant",
    "laplacian_spectrum",
    "local_and_global_consistency",
    "number_of_spanning_trees",
    "resistance_distance",
    "second_order_centrality",
    "should_run",
    "spectral_bisection",
    "spectral_ordering",
]
