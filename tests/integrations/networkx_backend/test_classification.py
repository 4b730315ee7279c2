"""Labels are those of networkx after the same number of steps."""

import networkx as nx
import pytest
from networkx.algorithms import node_classification

from tests.integrations.networkx_backend.graphs import OURS, THEIRS, connected_graph

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")


@pytest.mark.parametrize(
    "function",
    [node_classification.harmonic_function, node_classification.local_and_global_consistency],
)
@pytest.mark.parametrize("n_classes", [2, 6])
def test_labels_are_those_of_networkx(function, n_classes):
    G = connected_graph(33)
    for number, node in enumerate(list(G)[::5]):
        G.nodes[node]["kind"] = ["red", "blue", "green", "gray", "pink", "gold"][number % n_classes]
    given = {"label_name": "kind", "max_iter": 7}
    assert function(G, **given, **OURS) == function(G, **given, **THEIRS)
    with pytest.raises(nx.NetworkXError, match="labeled by 'other'"):
        function(G, label_name="other", **OURS)
