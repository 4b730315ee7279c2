"""Sparsifiers as transforms of PyTorch Geometric, and what is said where torch is missing."""

import importlib
import sys

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sparsify
from graphsqueak.integrations import Sparsify, pyg

WHY = "needs torch: pip install 'graphsqueak[pyg]'"


@pytest.fixture
def torch():
    pytest.importorskip("torch_geometric", reason=WHY)
    return pytest.importorskip("torch", reason=WHY)


def undirected(torch, n_nodes=150, share=0.3, **more):
    """A random graph with both directions listed, in no order, and the number of each edge."""
    from torch_geometric.data import Data

    rng = np.random.default_rng(11)
    tail, head = np.nonzero(np.triu(rng.random((n_nodes, n_nodes)) < share, 1))
    order = rng.permutation(2 * tail.size)
    ends = np.stack([np.append(tail, head), np.append(head, tail)])[:, order]
    number = np.tile(np.arange(tail.size), 2)[order]
    index = torch.from_numpy(ends)
    return Data(edge_index=index, num_nodes=n_nodes, edge_attr=torch.from_numpy(number), **more)


def adjacency(data, n_nodes):
    dense = np.zeros((n_nodes, n_nodes))
    np.add.at(dense, tuple(data.edge_index.numpy()), data.edge_weight.double().numpy())
    return dense


def test_it_is_the_sparsifier_of_the_same_graph(torch):
    data = undirected(torch)
    before = data.edge_index.clone()
    out = Sparsify(keep=0.2, random_state=5)(data)
    tail, head = np.sort(before.numpy(), axis=0)
    simple = EdgeList(tail=tail, head=head, weight=np.full(tail.size, 0.5)).simplified()
    expected = sparsify(simple, keep=0.2, random_state=5).to_scipy().toarray()
    assert np.allclose(adjacency(out, 150), expected, rtol=1e-6)
    assert out.edge_weight.dtype == torch.float32
    assert out.num_edges == 2 * int(np.count_nonzero(np.triu(expected)))
    assert torch.equal(data.edge_index, before)
    assert "edge_weight" not in data


def test_attributes_go_with_their_edges_in_the_old_order(torch):
    data = undirected(torch)
    pairs = torch.zeros((2, data.num_edges), dtype=torch.long)
    data.edge_label_index, data.edge_label = pairs, torch.zeros(data.num_edges)
    data.kind = [str(number) for number in data.edge_attr.tolist()]
    data.x = torch.arange(150.0)
    out = Sparsify(n_edges=400, random_state=5)(data)
    where = {tuple(pair): i for i, pair in enumerate(data.edge_index.T.tolist())}
    columns = [where[tuple(pair)] for pair in out.edge_index.T.tolist()]
    assert columns == sorted(columns)
    assert len(columns) <= 800
    assert torch.equal(out.edge_attr, data.edge_attr[columns])
    assert out.kind == [data.kind[column] for column in columns]
    assert torch.equal(out.edge_label_index, pairs)
    assert out.edge_label.shape == data.edge_label.shape
    assert torch.equal(out.x, data.x)


def test_weights_are_read_and_put_back_under_their_name(torch):
    data = undirected(torch)
    data.trust = (1.0 + data.edge_attr % 3).double()
    out = Sparsify(keep=0.3, weight="trust", random_state=5)(data)
    assert out.trust.dtype == torch.float64
    assert "edge_weight" not in out
    degrees = np.bincount(out.edge_index[0], out.trust, 150)
    whole = np.bincount(data.edge_index[0], data.trust, 150)
    assert np.allclose(degrees, whole, rtol=0.1)  # calibrated; uniform weights would miss by half
    own = Sparsify(keep=0.3, weight="trust", reweight=False, random_state=5)(data)
    assert torch.equal(own.edge_index, out.edge_index)
    assert torch.equal(own.trust, (1.0 + own.edge_attr % 3).double())
    everything = Sparsify(n_edges=data.num_edges, weight="trust")(data)
    assert torch.allclose(everything.trust, data.trust)


def test_loops_isolated_nodes_and_graphs_without_edges(torch):
    from torch_geometric.data import Data

    index = torch.tensor([[0, 3, 1, 1, 0], [3, 0, 1, 0, 1]])
    weight = torch.tensor([2.0, 2.0, 9.0, 1.0, 1.0])
    data = Data(edge_index=index, edge_weight=weight, num_nodes=6)
    out = Sparsify(n_edges=10)(data)
    assert torch.equal(out.edge_index, index)
    assert torch.equal(out.edge_weight, weight)
    assert out.num_nodes == 6
    only_loop = Sparsify(keep=0.5)(Data(edge_index=torch.tensor([[4], [4]]), num_nodes=5))
    assert only_loop.edge_weight.tolist() == [1.0]
    empty = Sparsify(keep=0.5)(Data(edge_index=index[:, :0], x=torch.ones(3, 1)))
    assert empty.edge_index.shape == (2, 0)
    assert empty.edge_weight.shape == (0,)
    assert empty.num_nodes == 3
    known_by_edges = Data(edge_index=torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]]))

    def drawn(seed):
        out = Sparsify(keep=0.3, method="uniform", random_state=seed)(known_by_edges)
        return out.num_nodes, max(out.edge_index.flatten().tolist(), default=2)

    with pytest.warns(UserWarning, match="num_nodes"):
        found = [drawn(seed) for seed in range(9)]
    assert {n_nodes for n_nodes, _ in found} == {3}
    assert min(top for _, top in found) == 1


def test_edges_listed_twice_become_one(torch):
    from torch_geometric.data import Data

    index = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]])
    out = Sparsify(n_edges=5)(Data(edge_index=index, num_nodes=2))
    assert out.edge_index.tolist() == [[0, 1], [1, 0]]
    assert out.edge_weight.tolist() == [2.0, 2.0]
    with pytest.raises(InputError, match=r"edge_attr cannot be kept.*data.coalesce\(\)"):
        Sparsify(n_edges=5)(Data(edge_index=index, num_nodes=2, edge_attr=torch.ones(4)))


def test_every_graph_of_a_batch_is_sparsified_for_itself(torch):
    from torch_geometric.data import Batch

    one, other = undirected(torch), undirected(torch, n_nodes=90)
    transform = Sparsify(keep=0.25, random_state=2)
    out = transform(Batch.from_data_list([one, other]))
    assert torch.equal(out[0].edge_index, transform(one).edge_index)
    assert torch.equal(out[1].edge_weight, transform(other).edge_weight)


def test_what_cannot_be_sparsified_is_refused(torch):
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.transforms import Compose, ToUndirected

    def data(**more):
        return Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, **more)

    transform = Sparsify(keep=0.5)
    one_way = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    with pytest.raises(InputError, match=r"directed: 0 -> 1 weighs 1, 1 -> 0 0; .*ToUndirected"):
        transform(one_way)
    assert Compose([ToUndirected(), Sparsify(n_edges=2)])(one_way).num_edges == 4
    with pytest.raises(InputError, match="edge 1 has weight -2"):
        transform(data(edge_weight=torch.tensor([1.0, -2.0])))
    with pytest.raises(InputError, match="edge 0 has weight nan"):
        transform(data(edge_weight=torch.full((2,), torch.nan)))
    with pytest.raises(InputError, match=r"edge_attr has the shape \(2, 3\)"):
        Sparsify(keep=0.5, weight="edge_attr")(data(edge_attr=torch.ones(2, 3)))
    with pytest.raises(InputError, match=r"before T.ToSparseTensor"):
        transform(Data(num_nodes=2))
    with pytest.raises(InputError, match=r"HeteroData.*to_homogeneous"):
        transform(HeteroData())
    with pytest.raises(InputError, match="exactly one"):
        Sparsify()
    with pytest.raises(InputError, match=r"Sparsify\(keep=...\)\(data\)"):
        sparsify(data(), keep=0.5)


def test_without_torch_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, pyg.__name__)
    bare = importlib.import_module(pyg.__name__)
    with pytest.raises(ImportError, match=r"graphsqueak\[pyg\]"):
        bare.Sparsify(keep=0.5)
