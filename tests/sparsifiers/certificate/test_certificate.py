"""Certificates: figures that follow from the bounds, tables and sentences."""

import math

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, certify, sources
from graphsqueak.sparsifiers import Certificate


def test_bounds_contain_the_values_of_the_graph():
    """All quantities of a small graph, against dense linear algebra."""
    rng = np.random.default_rng(20_261)
    graph = sources.complete(12).to_edge_list()
    weight = rng.uniform(0.5, 2.0, graph.n_edges)
    sparsifier = EdgeList(tail=graph.tail, head=graph.head, weight=weight)
    certificate = certify(graph, sparsifier)
    L, M = (edges.laplacian().toarray() for edges in (graph, sparsifier))
    side = np.arange(12) < 5
    pairs = {
        "cuts": (side @ L @ side, side @ M @ side),
        "eigenvalues": (np.linalg.eigvalsh(L)[1:], np.linalg.eigvalsh(M)[1:]),
        "resistances": (resistance(L), resistance(M)),
        "conductances": (conductance(L, side), conductance(M, side)),
    }
    for quantity, (truth, value) in pairs.items():
        low, high = certificate.bounds_on(value, quantity=quantity)
        assert (low <= truth).all(), quantity
        assert (truth <= high).all(), quantity


def resistance(laplacian):
    inverse = np.linalg.pinv(laplacian)
    return inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]


def conductance(laplacian, side):
    return (side @ laplacian @ side) / np.diag(laplacian)[side].sum()


def test_a_ridge_bounds_no_other_quantity():
    certificate = Certificate(0.5, 0.5, 0.5, 1.25, delta=0.0, ridge=2.0)
    with pytest.raises(InputError, match=r"ridge=2.0 .* does not bound cuts; call certify without"):
        certificate.bounds_on([1.0], quantity="cuts")


def test_unknown_bounds_are_infinite():
    certificate = Certificate(1.0, np.inf, 0.0, np.inf, delta=0.0, problem="two components")
    low, high = certificate.bounds_on([1.0], quantity="cuts")
    assert (low[0], high[0]) == (0.0, np.inf)
    assert certificate.kappa == math.inf
    assert certificate.epsilon_rescaled == 1.0
    assert certificate.in_words() == "This is not a sparsifier of the graph: two components."
    assert str(certificate) == "epsilon 1: two components"


def test_the_table_has_pairs_and_notes_if_there_are_any():
    bounds = {"epsilon_lower": 0.1, "epsilon_upper": 0.2, "lambda_min": 0.8, "lambda_max": 1.2}
    plain = Certificate(**bounds, delta=0.01)
    names = [name for name, _, _ in plain.rows()]
    assert "minimizing_pair" not in names
    full = Certificate(
        **bounds, delta=0.01, minimizing_pair=(3, 8), maximizing_pair=("a", "b"), unresolved="x"
    )
    values = {name: value for name, value, _ in full.rows()}
    assert values["minimizing_pair"] == "3 and 8"
    assert values["maximizing_pair"] == "a and b"
    assert values["unresolved"] == "x"
    assert "<td>a and b</td>" in full._repr_html_()


def test_scalars_become_python_floats():
    certificate = Certificate(*np.array([0.1, 0.2, 0.8, 1.2]), delta=np.float64(0.01))
    assert "np." not in repr(certificate)
    assert type(certificate.kappa) is float
