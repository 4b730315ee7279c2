"""A subgraph has a small kappa, is made on request only, and says what it does not preserve."""

import json

import numpy as np
import pytest
import scipy.spatial

from graphsqueak import EdgeList, InputError, certify, read_edges, sources, sparsify, write_edges
from graphsqueak.cli import run
from graphsqueak.sparsifiers import (
    SparsifyConfig,
    run_sparsify,
    subgraph_sparsifier,
    write_report,
)
from graphsqueak.sparsifiers.result import next_step, verdict
from graphsqueak.sparsifiers.subgraph.subgraph import largest_ratio

SEED = 62_831


def delaunay(n_nodes):
    points = np.random.default_rng(SEED).random((n_nodes, 2))
    corner = scipy.spatial.Delaunay(points).simplices
    pairs = np.sort(np.concatenate([corner[:, :2], corner[:, 1:], corner[:, [0, 2]]]), axis=1)
    tail, head = np.unique(pairs, axis=0).T
    return EdgeList(tail=tail, head=head, n_nodes=n_nodes)


@pytest.mark.parametrize("name", ["Delaunay", "grid", "circuit", "two rings and a node"])
def test_kappa_is_small_and_the_interval_is_centered(name):
    """Half of what spectral subgraphs of the literature have at as many edges (105)."""
    rng = np.random.default_rng(SEED)
    if name == "Delaunay":
        graph = delaunay(800)
    elif name == "two rings and a node":
        ring = np.arange(200)
        tail = np.concatenate([ring, 200 + ring])
        head = np.concatenate([(ring + 1) % 200, 200 + (ring + 1) % 200])
        graph = EdgeList(tail=tail, head=head, n_nodes=401)
    else:
        grid = sources.grid(28, 28).to_edge_list()
        weight = rng.lognormal(sigma=1.5, size=grid.n_edges) if name == "circuit" else grid.weight
        graph = EdgeList(tail=grid.tail, head=grid.head, weight=weight)
    n_edges = 399 if name == "two rings and a node" else int(1.13 * graph.n_nodes)
    chosen = subgraph_sparsifier(graph, n_edges, seed=SEED)
    assert chosen.n_edges == n_edges
    np.testing.assert_array_equal(chosen.components(), graph.components())
    exact = certify(graph, chosen)
    least, most = exact.lambda_min, exact.lambda_max
    if name == "two rings and a node":  # one edge is lost: n - 1 in series stand beside it
        assert most / least == pytest.approx(200)
    else:
        assert most / least < 55
    assert least + most == pytest.approx(2, abs=0.1)
    assert max(1 - least, most - 1) < 1


def test_weights_are_those_of_the_graph_times_one_factor():
    graph = delaunay(300)
    weight = np.random.default_rng(SEED).uniform(1, 5, graph.n_edges)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight)
    chosen = subgraph_sparsifier(graph, 400, seed=SEED)
    whole = graph.to_scipy().tocoo()
    lookup = {(u, v): w for u, v, w in zip(*whole.coords, whole.data, strict=True)}
    ends = zip(chosen.tail.tolist(), chosen.head.tolist(), strict=True)
    ratio = chosen.weight / [lookup[pair] for pair in ends]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    assert 1 < ratio[0] < 2


def test_edges_beyond_the_forest_are_scored_by_their_weight():
    """A heavy path with one chord of weight 20, and with twenty of 0.001 that reach farther.

    One chord fits. Whatever the random vectors, no light one can lower the largest ratio as much.
    """
    path = np.arange(59)
    for seed in range(SEED, SEED + 5):
        rng = np.random.default_rng(seed)
        tail = np.concatenate([path, [10], rng.integers(0, 10, size=20)])
        head = np.concatenate([path + 1, [40], rng.integers(41, 60, size=20)])
        weight = np.concatenate([np.full(59, 1e5), [20.0], np.full(20, 1e-3)])
        graph = EdgeList(tail=tail, head=head, weight=weight)
        chosen = subgraph_sparsifier(graph, 60, seed=seed)
        chord = np.flatnonzero(chosen.head - chosen.tail != 1)
        assert list(zip(chosen.tail[chord], chosen.head[chord], strict=True)) == [(10, 40)]


@pytest.mark.parametrize("edges_per_node", [1.13, 1.6, 2.8, 5.0])
def test_the_default_is_the_stream_however_few_edges_are_kept(edges_per_node):
    graph = sources.chung_lu(400, 6_000, random_state=SEED).to_edge_list().simplified()
    settings = {"n_edges": int(edges_per_node * 400), "random_state": SEED}
    default = sparsify(graph, **settings)
    stream = sparsify(graph, method="stream", **settings)
    for name in ("tail", "head", "weight"):
        np.testing.assert_array_equal(getattr(default, name), getattr(stream, name))
    assert run_sparsify(graph, SparsifyConfig(**settings)).method == "stream"


def test_a_subgraph_on_request_has_the_smaller_kappa():
    graph = delaunay(900)
    settings = {"n_edges": 1017, "certify": True, "random_state": SEED}
    few = run_sparsify(graph, SparsifyConfig(method="subgraph", **settings))
    assert few.method == few.record()["method"] == "subgraph"
    stream = run_sparsify(graph, SparsifyConfig(method="stream", **settings))
    assert few.certificate.kappa < stream.certificate.kappa / 5
    assert few.certificate.epsilon_upper < min(stream.certificate.epsilon_upper, 1)


@pytest.mark.parametrize("certify", [True, False])
def test_the_verdict_on_a_subgraph_names_its_factor_and_what_is_not_preserved(certify):
    graph = delaunay(400)
    config = SparsifyConfig(n_edges=450, method="subgraph", certify=certify, random_state=SEED)
    result = run_sparsify(graph, config)
    ratio = result.sparsifier.weight.sum() / graph.weight.sum()
    assert 0.5 < ratio < 0.9
    assert result.record()["total_weight_ratio"] == pytest.approx(ratio)
    said = verdict(result)
    assert f"their weights are the graph's times {result.factor:.3g}" in said
    assert f"total weight is {100 * ratio:.0f} % of the graph's" in said
    assert "Cuts and degrees are not preserved" in said
    assert next_step(result) == "For cuts, degrees and random walks use the stream: --method auto."


@pytest.mark.parametrize("method", ["auto", "subgraph"])
def test_the_report_says_how_degrees_came_about(tmp_path, method):
    graph = delaunay(300)
    result = run_sparsify(graph, SparsifyConfig(n_edges=345, method=method, random_state=SEED))
    where = tmp_path / "report.html"
    write_report(result, where, edges=["mesh.tsv"], out="out.tsv")
    page = where.read_text()
    change = 100 * np.abs(result.sparsifier.degrees() / graph.degrees() - 1)
    assert f"Half of the nodes have their degree within {np.median(change):.4g} %" in page
    assert f"all of them within {change.max():.4g} %" in page
    assert "every node keeps nearly" not in page
    assert ("degrees are not preserved" in page) == (method == "subgraph")
    assert ("weights are scaled so that their total is" in page) == (method == "auto")


@pytest.mark.parametrize("name", ["grid", "skewed"])
def test_both_ends_of_the_interval_are_found(name):
    """From inside, and nearly: the factor of a subgraph is told by one of them."""
    if name == "grid":
        graph = sources.grid(36, 36).to_edge_list()
    else:
        graph = sources.chung_lu(1200, 9000, random_state=SEED).to_edge_list().simplified()
    thinned = sparsify(graph, n_edges=2 * graph.n_nodes, method="stream", random_state=SEED)
    exact = certify(graph, thinned, method="dense")
    most = largest_ratio(thinned, graph, seed=SEED)
    least = 1 / largest_ratio(graph, thinned, seed=SEED)
    assert 0.97 * exact.lambda_max < most < exact.lambda_max * (1 + 1e-9)
    assert exact.lambda_min * (1 - 1e-9) < least < 1.03 * exact.lambda_min


def test_a_file_is_read_twice_and_gives_what_memory_gives(tmp_path, capsys):
    graph = delaunay(400)
    write_edges(graph, tmp_path / "mesh.tsv")
    out = str(tmp_path / "out.tsv")
    command = ["sparsify", str(tmp_path / "mesh.tsv"), "-o", out, "--n-edges", "450", "--seed", "5"]
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["method"] == "stream"
    assert record["total_weight_ratio"] == pytest.approx(1.0)
    assert run([*command, "--method", "subgraph", "--json", "--force"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["method"] == "subgraph"
    assert record["edges_kept"] == 450
    written = read_edges(out).to_edge_list()
    in_memory = read_edges(tmp_path / "mesh.tsv").to_edge_list()
    expected = sparsify(in_memory, n_edges=450, method="subgraph", random_state=5)
    assert written.weight.sum() == pytest.approx(expected.weight.sum())
    assert run([*command, "--method", "subgraph", "--certify", "--force"]) == 0
    printed = capsys.readouterr()
    assert "a subgraph for preconditioning" in printed.out
    assert "Good as a preconditioner" in printed.out
    assert "expected: 450 edges, an error of about 0.9" in printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"epsilon": 0.5}, "takes n_edges or keep"),
        ({"n_edges": 450, "ridge": 1.0}, "and no ridge"),
        ({"n_edges": 450, "tree": "balanced"}, "merge tree"),
        ({"n_edges": 300}, "too few to keep 400 nodes connected .at least 399"),
        ({"n_edges": 450, "memory_limit": 630_000_000}, None),
    ],
)
def test_what_a_subgraph_cannot_do_is_refused(arguments, said):
    graph = delaunay(400)
    if said is None:
        assert sparsify(graph, method="subgraph", **arguments).n_edges == 450
        return
    with pytest.raises(InputError, match=said):
        sparsify(graph, method="subgraph", **arguments)


def test_the_same_seed_gives_the_same_bytes():
    graph = delaunay(700)
    first, second = (subgraph_sparsifier(graph, 800, seed=SEED) for _ in range(2))
    np.testing.assert_array_equal(first.weight, second.weight)
    np.testing.assert_array_equal(first.tail, second.tail)
