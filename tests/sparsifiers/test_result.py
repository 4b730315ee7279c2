"""When nothing was dropped the stream knows it; what is said of a run agrees with its figures."""

import numpy as np
import pytest

from graphsqueak import StreamOptions, StreamSparsifier
from graphsqueak.graph import EdgeList
from graphsqueak.sources import chung_lu, complete, cycle
from graphsqueak.sparsifiers import Certificate, SparsifyConfig, run_sparsify, write_report
from graphsqueak.sparsifiers.result import error_in_short, measured_error, next_step, verdict

DENSE = complete(56)  # 1540 edges


@pytest.mark.parametrize(
    ("settings", "is_whole"),
    [
        ({"keep": 1.0}, True),
        ({"n_edges": 1540}, True),
        ({"n_edges": 1539}, False),
        ({"keep": 0.99}, False),
        ({"epsilon": 0.001}, True),
        ({"epsilon": 0.1}, False),
        ({"method": "kelner-levin", "epsilon": 0.9}, False),
    ],
)
def test_a_stream_knows_whether_anything_was_dropped(settings, is_whole):
    stream = StreamSparsifier(**settings, random_state=5).partial_fit(DENSE)
    sparsifier = stream.sparsifier()
    assert stream.is_exact_ == is_whole
    assert (stream.epsilon_predicted_ == 0) == is_whole
    if is_whole:
        assert sparsifier.n_edges == 1540
        np.testing.assert_array_equal(sparsifier.weight, 1.0)


def test_parallel_edges_that_were_added_up_are_not_dropped():
    twice = EdgeList(tail=[0, 1, 0], head=[1, 2, 1], weight=[1.0, 1.0, 2.0])
    result = run_sparsify(twice, SparsifyConfig(n_edges=3, certify=True))
    assert error_in_short(result) == "error 0: nothing was dropped"
    assert "1 edges that repeat others were added to them" in verdict(result)
    assert result.certificate.meets(0.0)
    assert result.certificate.passes == 0


def test_an_error_that_needs_all_edges_is_explained():
    thin = run_sparsify(cycle(60), SparsifyConfig(epsilon=0.9))
    assert "No edge can be dropped at an error of 0.9: 1.0 edges per node" in next_step(thin)
    assert "--keep" not in next_step(thin)  # half of the edges cannot hold the cycle together


def test_few_edges_are_said_to_keep_the_total_weight_but_not_every_cut():
    graph = chung_lu(300, 4_000, random_state=9).to_edge_list()
    result = run_sparsify(graph, SparsifyConfig(n_edges=400, random_state=9))
    assert error_in_short(result) == "error above 1 (predicted, not measured)"
    assert "too few edges to preserve every cut" in verdict(result)
    assert "the total weight is 100 % of the graph's" in verdict(result)
    assert result.total_weight_ratio == pytest.approx(1.0, abs=1e-9)
    assert result.record()["total_weight_ratio"] == result.total_weight_ratio


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_edges": 1540}, "Nothing was dropped, so that every node has its degree."),
        ({"n_edges": 300}, "weights are scaled so that their total is the graph"),
        (
            {"n_edges": 300, "options": StreamOptions(rescale_to_degrees=False)},
            "degrees are not corrected afterwards",
        ),
        ({"method": "kelner-levin", "epsilon": 0.9}, "degrees are not corrected afterwards"),
    ],
)
def test_the_report_says_how_the_weights_came_about(tmp_path, settings, said):
    result = run_sparsify(DENSE, SparsifyConfig(**settings, certify=False, random_state=5))
    write_report(result, tmp_path / "report.html", edges=["edges.tsv"], out="out.tsv")
    assert said in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (Certificate(0.1, 0.10001, 0.9, 1.1, delta=0.01), "error at most 0.101, kappa 1.23 ("),
        (Certificate(1e-9, 1e-5, 1.0, 1.0, delta=0.01), "error at most 1e-05"),
        (Certificate(1.0, np.inf, 0, np.inf, delta=0.0, problem="split"), "not bounded: split"),
    ],
)
def test_errors_are_rounded_upwards(certificate, said):
    assert said in measured_error(certificate)
