"""Matrix Market files are the graphs of their adjacency matrices."""

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.errors import InputError
from graphsqueak.graph import EdgeList
from graphsqueak.sources import read_edges
from graphsqueak.sources.files.adjacency import SymmetryCheck


def read(text, **options):
    return read_edges(io.BytesIO(text.encode()), **options).to_edge_list()


def banner(field="real", symmetry="symmetric", layout="coordinate"):
    return f"%%MatrixMarket matrix {layout} {field} {symmetry}\n"


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    field=st.sampled_from(["pattern", "real", "integer"]),
    symmetry=st.sampled_from(["general", "symmetric"]),
)
def test_equals_from_scipy_of_the_same_matrix(seed, field, symmetry):
    rng = np.random.default_rng(seed)
    half = scipy.sparse.random_array((7, 7), density=0.3, rng=rng)
    matrix = (half + half.T).tocoo()
    if field != "real":
        matrix.data[:] = 1 if field == "pattern" else np.ceil(9 * matrix.data)
        matrix = matrix.astype(np.int64)
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, field=field, symmetry=symmetry)
    edges = read_edges(io.BytesIO(file.getvalue())).to_edge_list()
    expected = EdgeList.from_scipy(matrix)
    assert edges.n_nodes == 7
    assert edges.ids.tolist() == list(range(1, 8))
    assert edges.n_self_loops == expected.n_self_loops
    np.testing.assert_allclose(
        edges.to_scipy().toarray(), expected.to_scipy().toarray(), rtol=1e-15
    )


def test_isolated_nodes_and_comments():
    edges = read(banner("pattern") + "% words\n\n4 4 1\n% more\n3 1\n")
    assert (edges.n_nodes, edges.tail.tolist(), edges.head.tolist()) == (4, [2], [0])


def test_a_matrix_without_entries_is_a_graph_without_edges():
    assert read(banner() + "3 3 0\n").n_nodes == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (banner(layout="array") + "1 1\n1\n", "is a dense \\(array\\).*scipy.io.mmwrite"),
        (banner("complex") + "1 1 0\n", "complex entries"),
        (banner(symmetry="skew-symmetric") + "1 1 0\n", "is skew-symmetric"),
        (banner() + "2 3 1\n2 1 1\n", "2 x 3 matrix"),
        (banner() + "2 2\n2 1 1\n", "line 2: '2 2' is not a size line"),
        (banner(), "no size line"),
        ("%%MatrixMarket matrix coordinate real\n1 1 0\n", "line 1: .* is not the banner"),
        (banner() + "2 2 2\n2 1 1\n", "1 entries, its size line says 2"),
        (banner() + "2 2 1\n2 1 1\n1 1 1\n", "2 entries, its size line says 1"),
        (
            banner() + "%\n2 2 2\n2 1 1\n% x\n3 1 1\n",
            "line 6: entry \\(3, 1\\) lies outside the 2 x 2",
        ),
        (banner() + "2 2 1\n0 1 1\n", "line 3: entry \\(0, 1\\) lies outside"),
        (banner() + "2 2 1\n2 1 x\n", "line 3: weight 'x' is not a number"),
        (banner() + "2 2 1\n2 1 -1\n", "line 3: weight '-1' is negative"),
        (banner(symmetry="general") + "2 2 1\n2 1 1\n", "not symmetric; .*format='text'"),
        (banner(symmetry="general") + "2 2 2\n2 1 1\n1 2 2\n", "not symmetric"),
    ],
)
def test_mistakes(text, words):
    with pytest.raises(InputError, match=words):
        read(text)


def test_text_ids_cannot_be_asked_for():
    with pytest.raises(InputError, match="numbers its nodes"):
        read(banner() + "2 2 1\n2 1 1\n", ids="text")


def test_entries_of_an_asymmetric_matrix_can_be_read_as_edges():
    edges = read(banner(symmetry="general") + "2 2 1\n2 1 7\n", format="text", header=True)
    assert (edges.ids.tolist(), edges.weight.tolist()) == ([2, 1], [7.0])


def test_symmetry_check_sums_parallel_entries_and_sees_small_differences():
    check = SymmetryCheck()
    check.add(np.array([[1, 2], [1, 2], [2, 1]]), np.array([0.1, 0.2, 0.3]))
    assert check.holds
    check.add(np.array([[5, 5]]), np.array([1.0]))
    assert check.holds
    check.add(np.array([[1, 3], [3, 1]]), np.array([1.0, 1.0 + 1e-6]))
    assert not check.holds
