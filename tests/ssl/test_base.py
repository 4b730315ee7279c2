"""What all estimators share: warnings, signatures, scores of mixed types."""

import inspect

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.ssl import UnreachedWarning
from tests.ssl.graphs import two_blocks


def test_the_warning_about_components_without_a_label_names_the_prediction():
    graph = gs.EdgeList(tail=[0, 2], head=[1, 3])
    expected = (
        r"^2 of 4 nodes lie in components without a label; they are predicted as unknown='prior' "
        r"\(see has_label_in_component_\)$"
    )
    with pytest.warns(UnreachedWarning, match=expected):
        gs.HFSClassifier().fit(graph, [0, -1, -1, -1])


@pytest.mark.parametrize("name", ["SparseHFSClassifier", "SparseHFSRegressor"])
def test_a_streaming_estimator_has_the_parameters_of_the_one_in_memory(name):
    streamed = inspect.signature(getattr(gs, name)).parameters
    in_memory = inspect.signature(getattr(gs, name.replace("Sparse", "Stable"))).parameters
    assert in_memory.keys() < streamed.keys()
    own = {"n_edges", "epsilon", "keep", "priority_fraction", "max_passes", "window", "half_life"}
    assert streamed.keys() - in_memory.keys() == own | {"progress"}
    assert all(streamed[key].default == in_memory[key].default for key in in_memory)


def test_scores_count_only_nodes_with_a_label():
    graph, truth = two_blocks(31_121)
    y = np.where(np.arange(80) % 10 == 0, truth, -1)
    model = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    is_right = model.predict() == truth
    some = np.where(np.arange(80) < 30, truth, -1)
    assert model.score(None, some) == is_right[:30].mean()
    values = np.where(y >= 0, y, np.nan)
    assert gs.StableHFSRegressor(random_state=7).fit(graph, values).score(None, truth) > 0
