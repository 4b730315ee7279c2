"""Objects with a state show it; estimators show what they learned."""

import warnings

import numpy as np

from graphsqueak import (
    EdgeList,
    LaplacianSolver,
    StableHFSClassifier,
    StreamedSolver,
    StreamSparsifier,
    sources,
)
from graphsqueak.report import table


def test_a_stream_shows_what_it_has_seen():
    stream = StreamSparsifier(n_edges=300, random_state=7)
    assert "n_edges_seen_=0" in repr(stream)
    stream.partial_fit(sources.complete(60).to_edge_list())
    assert "n_edges_seen_=1770, n_nodes_=60, n_components_=1, budget_=300" in repr(stream)
    shown = stream._repr_html_()
    assert "<td>edges seen</td><td>1,770</td>" in shown
    assert "<caption>StreamSparsifier</caption>" in shown


def test_solvers_show_their_last_solve():
    solver = LaplacianSolver(EdgeList(tail=[0, 1], head=[1, 2]), tol=1e-8)
    assert repr(solver) == "LaplacianSolver(n_nodes=3, tol=1e-08, solver=auto)"
    solver.solve(np.array([1.0, 0.0, -1.0]))
    assert f"<td>iterations of the last solve</td><td>{solver.n_iter_}</td>" in solver._repr_html_()
    read = StreamedSolver(sources.complete(40), keep=0.5, random_state=7)
    assert "EdgeList(n_nodes=40" in repr(read)
    assert "<td>passes over the edges</td><td>1</td>" in read._repr_html_()


def test_an_estimator_shows_what_it_learned_below_its_picture():
    graph = sources.barbell(8).to_edge_list()
    labels = np.full(17, -1)
    labels[[0, 15]] = 0, 1
    graph = EdgeList(tail=graph.tail, head=graph.head, n_nodes=17)
    classifier = StableHFSClassifier(random_state=7)
    assert "learned" not in classifier._repr_mimebundle_()["text/html"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # node 16 is alone
        classifier.fit(graph, labels)
    shown = classifier._repr_mimebundle_()["text/html"]
    assert "<caption>learned</caption>" in shown
    assert "<td>classes</td><td>2</td>" in shown
    sizes = [int((classifier.transduction_ == label).sum()) for label in (0, 1)]
    assert f"0: {sizes[0]}, 1: {sizes[1]}" in shown
    assert "<td>nodes that no label reaches</td><td>1</td>" in shown
    assert repr(classifier) == "StableHFSClassifier(random_state=7)"


def test_degrees_are_a_line_of_bars():
    assert table.sparkline(np.array([4, 4, 4])) == "█"
    assert table.sparkline(np.array([0, 1000])).strip() == "█" + " " * 14 + "█"
    spread = table.sparkline(np.arange(1, 17))
    assert spread == "█" * 16
    star = sources.star(30).to_edge_list()._repr_html_()
    assert "30 nodes, 29 edges, total weight 29; edges per node, 1 to 29: █" in star
    assert "... 24 more" in star
