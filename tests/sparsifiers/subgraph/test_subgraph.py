"""Few edges: the subgraph keeps its promises, has a small kappa, and is taken where that helps."""

import json

import numpy as np
import pytest
import scipy.spatial

from graphsqueak import EdgeList, InputError, certify, sources, sparsify, write_edges
from graphsqueak.cli import run
from graphsqueak.sparsifiers import RunPlan, run_plan, subgraph_sparsifier
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


def test_few_edges_are_a_subgraph_and_many_are_not():
    graph = delaunay(900)
    few = run_plan(graph, RunPlan(n_edges=1017, certify=True, random_state=SEED))
    assert few.method == few.record()["method"] == "subgraph"
    stream = run_plan(graph, RunPlan(n_edges=1017, method="fast", certify=True, random_state=SEED))
    assert few.certificate.kappa < stream.certificate.kappa / 5
    assert few.certificate.epsilon_upper < min(stream.certificate.epsilon_upper, 1)
    dense = sources.erdos_renyi(300, 9000, random_state=SEED).to_edge_list()
    assert run_plan(dense, RunPlan(n_edges=2400, random_state=SEED)).method == "fast"


@pytest.mark.parametrize("per_node", [1.6, 2.8])
def test_between_them_the_smaller_kappa_stays(per_node):
    """Of a heavy-tailed graph the subgraph is better at first, and the stream soon."""
    graph = sources.chung_lu(400, 6000, random_state=SEED).to_edge_list().simplified()
    n_edges = int(per_node * 400)
    kappa = {}
    for method in ("auto", "fast", "subgraph"):
        made = sparsify(graph, n_edges=n_edges, method=method, random_state=SEED)
        kappa[method] = certify(graph, made).kappa
    # both are known to about two percent
    assert kappa["auto"] <= 1.04 * min(kappa["fast"], kappa["subgraph"])


@pytest.mark.parametrize("name", ["grid", "skewed"])
def test_both_ends_of_the_interval_are_found(name):
    """From inside, and nearly: they decide which method is taken, and the factor of its weights."""
    if name == "grid":
        graph = sources.grid(36, 36).to_edge_list()
    else:
        graph = sources.chung_lu(1200, 9000, random_state=SEED).to_edge_list().simplified()
    thinned = sparsify(graph, n_edges=2 * graph.n_nodes, method="fast", random_state=SEED)
    exact = certify(graph, thinned, method="dense")
    most = largest_ratio(thinned, graph, seed=SEED)
    least = 1 / largest_ratio(graph, thinned, seed=SEED)
    assert 0.97 * exact.lambda_max < most < exact.lambda_max * (1 + 1e-9)
    assert exact.lambda_min * (1 - 1e-9) < least < 1.03 * exact.lambda_min


def test_a_file_is_read_twice_and_gives_what_memory_gives(tmp_path, capsys):
    graph = delaunay(400)
    write_edges(graph, tmp_path / "mesh.tsv")
    out = str(tmp_path / "out.tsv")
    command = ["sparsify", str(tmp_path / "mesh.tsv"), "-o", out, "--edges", "450", "--seed", "5"]
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["method"] == "subgraph"
    assert record["edges_kept"] == 450
    assert run([*command, "--certify", "--force"]) == 0
    printed = capsys.readouterr().out
    assert "chosen as a subgraph" in printed
    assert "preconditioner" in printed
    assert run([*command, "--method", "fast", "--json", "--force"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "fast"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"epsilon": 0.5}, "takes n_edges or keep"),
        ({"n_edges": 450, "ridge": 1.0}, "has no ridge"),
        ({"n_edges": 450, "tree": "balanced"}, "no merge tree"),
        ({"n_edges": 300}, "cannot hold 400 nodes together: at least 399"),
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
