"""What is said before the work agrees with what is measured after it."""

import json

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamSparsifier, certify, sources, sparsify, write_edges
from graphsqueak.cli import run
from graphsqueak.sparsifiers import Forecast

SEED = 57_721


def made(name):
    n_nodes = 350
    if name == "dense":
        return sources.erdos_renyi(n_nodes, 30_000, random_state=SEED).to_edge_list()
    if name == "sparse":
        return sources.erdos_renyi(n_nodes, 3_500, random_state=SEED).to_edge_list()
    if name == "uneven degrees":
        return sources.chung_lu(n_nodes, 5_000, random_state=SEED).to_edge_list()
    if name == "neighbors":
        return sources.gaussian_neighbors(n_nodes, 20, random_state=SEED).to_edge_list()
    if name == "grid":
        return sources.grid(19, 19).to_edge_list()
    plain = sources.erdos_renyi(n_nodes, 15_000, random_state=SEED).to_edge_list()
    weight = np.random.default_rng(SEED).lognormal(sigma=2.0, size=plain.n_edges)
    return EdgeList(tail=plain.tail, head=plain.head, weight=weight, n_nodes=n_nodes)


@pytest.mark.parametrize(
    "name", ["dense", "sparse", "uneven degrees", "neighbors", "uneven weights", "grid"]
)
def test_measured_errors_are_close_to_the_forecast(name):
    """Between 0.75 and 1.33 times, at a tenth, a fifth and a half, where a forest fits."""
    graph = made(name).simplified()
    forecast = Forecast(graph)
    for keep in (0.1, 0.2, 0.5, 0.7):
        n_edges = int(keep * graph.n_edges)
        if n_edges < 1.05 * forecast.n_forest:
            continue
        small = sparsify(graph, n_edges=n_edges, random_state=SEED)
        error = certify(graph, small).epsilon_upper
        assert 0.75 < error / forecast.expect(n_edges).epsilon < 1.33, keep


@pytest.mark.parametrize("keep", [0.05, 0.5])
def test_a_stream_predicts_by_the_same_model(keep):
    """Of many edges it keeps some: what it predicts of these is what the whole graph tells."""
    graph = sources.erdos_renyi(300, 30_000, random_state=SEED).to_edge_list()
    n_edges = int(keep * 30_000)
    options = {"n_edges": n_edges, "random_state": SEED}
    once = StreamSparsifier(**options).partial_fit(graph)
    once.sparsifier()
    told = Forecast(graph).expect(n_edges).epsilon
    assert once.epsilon_predicted_ == pytest.approx(told, rel=0.1)
    dense = np.sqrt(2 * 300 / n_edges)
    assert once.epsilon_predicted_ < (0.99 if keep == 0.05 else 0.85) * dense


def test_the_share_for_an_error_gives_that_error():
    graph = made("uneven degrees").simplified()
    forecast = Forecast(graph)
    share = forecast.share_for(0.5)
    assert forecast.expect(int(share * graph.n_edges)).epsilon == pytest.approx(0.5, abs=0.02)
    assert "Worth it: --keep" in forecast.advice()
    assert "Hardly worth it" in Forecast(made("grid")).advice()


def test_a_sample_tells_what_all_edges_tell():
    source = sources.complete(350)
    whole = Forecast(source.to_edge_list())
    sample = Forecast.from_sample(source, n_edges=61_075, most=10_000)
    assert sample.n_forest == whole.n_forest
    for keep in (0.1, 0.5):
        n_edges = int(keep * 61_075)
        ratio = sample.expect(n_edges).epsilon / whole.expect(n_edges).epsilon
        assert 0.9 < ratio < 1.1


def test_edges_that_repeat_are_counted_as_a_share_counts_them():
    graph = made("dense").simplified()
    twice = EdgeList(
        tail=np.tile(graph.tail, 2), head=np.tile(graph.head, 2), n_nodes=graph.n_nodes
    )
    forecast = Forecast(twice)
    assert forecast.n_edges == 2 * graph.n_edges
    assert forecast.expect(graph.n_edges).epsilon == 0
    assert forecast.expect(graph.n_edges - 100).epsilon > 0


def test_commands_say_it_before_the_work(tmp_path, capsys):
    write_edges(made("sparse"), tmp_path / "edges.tsv")
    edges, out = str(tmp_path / "edges.tsv"), str(tmp_path / "out.tsv")
    assert run(["info", edges, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [round(row["keep"], 2) for row in record["forecast"]] == [0.1, 0.2, 0.5]
    errors = [row["epsilon"] for row in record["forecast"]]
    assert 1 > errors[0] > errors[1] > errors[2]
    assert run(["sparsify", edges, "-o", out, "--keep", "0.15", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "warning: --keep leaves 1.5 edges a node; expected: 525 edges" in printed
    assert "Less than --keep 0.1 cannot hold the nodes together." in printed
    assert run(["sparsify", edges, "-o", out, "--keep", "0.6", "--seed", "3"]) == 0
    told = capsys.readouterr()
    assert "expected: 2,100 edges, an error of about 0.4" in told.err
    assert "predicted, not measured" in told.out
