"""The backend is registered, passes the tests of networkx, and leaves other calls to networkx."""

import logging
import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from graphsqueak.integrations.networkx_backend import can_run
from tests.integrations.networkx_backend.graphs import OURS, connected_graph

# Tests of networkx for the functions of the backend.
TESTS = (
    "algorithms.tests.test_distance_measures::TestEffectiveGraphResistance",
    "algorithms.tests.test_distance_measures::TestKemenyConstant",
    "algorithms.tests.test_distance_measures::TestResistanceDistance",
    "algorithms.tests.test_node_classification",
    "algorithms.centrality.tests.test_current_flow_closeness",
    "algorithms.centrality.tests.test_current_flow_betweenness_centrality",
    "algorithms.centrality.tests.test_second_order_centrality",
    "algorithms.tree.tests.test_mst::TestNumberSpanningTrees",
    "linalg.tests.test_algebraic_connectivity",
    "linalg.tests.test_spectrum",
)
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")


def test_the_backend_is_registered():
    assert "graphsqueak" in nx.config.backends, "reinstall by pip install --editable ."


@pytest.mark.slow
def test_the_tests_of_networkx_pass(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider"),
            *("--pyargs", *(f"networkx.{test}" for test in TESTS)),
        ],
        cwd=tmp_path,
        env=os.environ
        | {"NETWORKX_TEST_BACKEND": "graphsqueak", "NETWORKX_FALLBACK_TO_NX": "True"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 150


def test_unsupported_calls_are_left_to_networkx(caplog):
    caplog.set_level(logging.DEBUG, logger="networkx.utils.backends")
    large, small = connected_graph(36), nx.path_graph(4)

    def log_of(function, *args, **given):
        caplog.clear()
        with nx.config.backend_priority(algos=["graphsqueak"]):
            function(*args, **given)
        return caplog.text

    assert "Using backend 'graphsqueak'" in log_of(nx.kemeny_constant, large)
    assert "because: the graph has fewer than 50 nodes" in log_of(nx.kemeny_constant, small)
    directed = nx.DiGraph([(0, 1), (1, 2)])
    assert "because: the graph is directed" in log_of(nx.spectral_ordering, directed)
    large.add_edge("n1", (0, "x"), weight=-1.0)
    log = log_of(nx.number_of_spanning_trees, large, weight="weight")
    assert "number_of_spanning_trees': weights must be positive" in log
    with pytest.raises(NotImplementedError, match="backend raised NotImplementedError"):
        nx.resistance_distance(large, weight="weight", **OURS)
    assert can_run("second_order_centrality", [nx.MultiGraph()], {}).startswith("the graph has par")
    assert can_run("current_flow_closeness_centrality", [small], {"dtype": np.float32}) is not True
