"""When nothing was dropped the stream knows it; what is said of a run agrees with its figures."""

import numpy as np
import pytest

from graphsqueak import StreamSparsifier
from graphsqueak.graph import EdgeList
from graphsqueak.sources import complete, cycle
from graphsqueak.sparsifiers import Certificate, RunPlan, run_plan
from graphsqueak.sparsifiers.plan import error_in_short, measured_error, next_step, verdict

DENSE = complete(56)  # 1540 edges


@pytest.mark.parametrize(
    ("settings", "is_whole"),
    [
        ({"keep": 1.0}, True),
        ({"n_edges": 1540}, True),
        ({"n_edges": 1539}, False),
        ({"keep": 0.99}, False),
        ({"epsilon": 0.1}, True),
        ({"method": "thesis", "epsilon": 0.9}, False),
    ],
)
def test_a_stream_knows_whether_anything_was_dropped(settings, is_whole):
    stream = StreamSparsifier(**settings, random_state=5).partial_fit(DENSE)
    sparsifier = stream.sparsifier()
    assert stream.is_whole_ == is_whole
    assert (stream.epsilon_predicted_ == 0) == is_whole
    if is_whole:
        assert sparsifier.n_edges == 1540
        np.testing.assert_array_equal(sparsifier.weight, 1.0)


def test_parallel_edges_that_were_added_up_are_not_dropped():
    twice = EdgeList(tail=[0, 1, 0], head=[1, 2, 1], weight=[1.0, 1.0, 2.0])
    result = run_plan(twice, RunPlan(n_edges=3, certify=True))
    assert error_in_short(result) == "error 0: nothing was dropped"
    assert "1 edges that repeat others were added to them" in verdict(result)
    assert result.certificate.meets(0.0)
    assert result.certificate.passes == 0


def test_an_error_at_which_half_the_edges_go_is_named_where_there_is_one():
    dense = run_plan(complete(56), RunPlan(epsilon=0.25))
    assert "--epsilon 0.45 would drop about half, and --keep 0.5" in next_step(dense)
    thin = run_plan(cycle(60), RunPlan(epsilon=0.9))
    assert "there are 60. --keep 0.5" in next_step(thin)


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (Certificate(0.1, 0.10001, 0.9, 1.1, delta=0.01), "error at most 0.101 (measured, with"),
        (Certificate(1e-9, 1e-5, 1.0, 1.0, delta=0.01), "error at most below 0.001"),
        (Certificate(1.0, np.inf, 0, np.inf, delta=0.0, problem="split"), "not bounded: split"),
    ],
)
def test_errors_are_rounded_upwards(certificate, said):
    assert said in measured_error(certificate)
