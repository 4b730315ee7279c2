"""Files at addresses are read and written as those on disk, whole or not at all."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak import EdgeList, InputError
from graphsqueak.sources import erdos_renyi, write_columns
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.run import run_sparsify
from graphsqueak.system.atomic import atomic_file

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def graph():
    return erdos_renyi(80, 900, random_state=5).to_edge_list()


NAMES = ["e.tsv", "e.csv.gz", "e.tsv.zst", "e.parquet", "e.arrow", "e.mtx", "e.graph"]


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_are_those_on_disk_and_are_read_alike(name, store, graph, tmp_path):
    gs.write_edges(graph, tmp_path / name)
    gs.write_edges(graph, f"memory://bucket/{name}")
    assert store.cat_file(f"/bucket/{name}") == (tmp_path / name).read_bytes()
    source, local = gs.read_edges(f"memory://bucket/{name}"), gs.read_edges(tmp_path / name)
    for _ in range(2):
        edges, expected = source.to_edge_list(), local.to_edge_list()
        assert np.array_equal(edges.tail, expected.tail)
        assert np.array_equal(edges.weight, expected.weight)
    assert source.fraction_read == 1.0


def test_folders_globs_and_hive_partitions_are_one_stream(store, graph):
    for number, half in enumerate((graph.part(0, 400), graph.part(400))):
        gs.write_edges(half, f"memory://data/day={number}/part.parquet")
    store.pipe_file("/data/_SUCCESS", b"")
    store.pipe_file("/data/.hidden/part.tsv", b"7 7\n")
    store.pipe_file("/data/README.md", b"about")
    for address in ("memory://data", "memory://data/*/part.parquet"):
        edges = gs.read_edges(address).to_edge_list()
        assert edges.n_edges == graph.n_edges
    assert gs.read_edges("memory://data").inferred_schema["remarks"] == ["passed over README.md"]


def test_a_run_from_and_to_addresses_gives_the_same_bytes(store, graph, tmp_path):
    gs.write_edges(graph, tmp_path / "edges.tsv")
    gs.write_edges(graph, "memory://bucket/edges.tsv")
    plan = {"n_edges": 300, "random_state": 7}
    gs.write_edges(gs.sparsify(gs.read_edges(tmp_path / "edges.tsv"), **plan), tmp_path / "h.tsv")
    H = gs.sparsify(gs.read_edges("memory://bucket/edges.tsv"), **plan)
    gs.write_edges(H, "memory://bucket/h.tsv")
    assert store.cat_file("/bucket/h.tsv") == (tmp_path / "h.tsv").read_bytes()


def test_a_run_is_resumed_from_a_checkpoint_at_an_address(store, graph):
    gs.write_edges(graph, "memory://bucket/edges.tsv")
    source = gs.read_edges("memory://bucket/edges.tsv", batch_size=100)
    whole = run_sparsify(source, SparsifyConfig(n_edges=300, random_state=7)).sparsifier
    stream = gs.StreamSparsifier(n_edges=300, random_state=7)
    for number, batch in enumerate(source):
        if number == 4:
            break
        stream.partial_fit(batch)
    stream.save("memory://bucket/run.ckpt")
    plan = SparsifyConfig(
        n_edges=300, random_state=7, checkpoint="memory://bucket/run.ckpt", resume=True
    )
    resumed = run_sparsify(source, plan).sparsifier
    assert np.array_equal(resumed.weight, whole.weight)
    with pytest.raises(InputError, match="does not exist; check the path of the checkpoint"):
        gs.StreamSparsifier.load("memory://bucket/none.ckpt")


def test_what_fails_leaves_nothing_at_the_address(store):

    def fail():
        with atomic_file("memory://bucket/half") as file:
            file.write(b"half of")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not store.exists("/bucket/half")
    write_columns({"node": np.array([1])}, "memory://bucket/table.csv")
    assert store.cat_file("/bucket/table.csv") == b"node\n1\n"


def test_a_source_is_not_written_over_and_a_change_is_noticed(store, graph):
    gs.write_edges(graph, "memory://bucket/edges.tsv")
    source = gs.read_edges("memory://bucket/edges.tsv")
    with pytest.raises(InputError, match="is what the edges are read from"):
        gs.write_edges(source, "memory://bucket/edges.tsv")
    source.to_edge_list()
    gs.write_edges(EdgeList(tail=[0], head=[1]), "memory://bucket/edges.tsv")
    with pytest.raises(InputError, match="has changed since it was read before"):
        source.to_edge_list()


def test_addresses_that_lead_nowhere_are_told(store):
    with pytest.raises(InputError, match="there is nothing to read at memory://bucket/none"):
        gs.read_edges("memory://bucket/none")
    with pytest.raises(InputError, match="save it first, and give the file"):
        gs.read_edges("gopher://host/edges.tsv")
