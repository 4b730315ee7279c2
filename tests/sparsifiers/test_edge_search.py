"""An error is met with few edges: the predicted curve, the search, and whole runs."""

import itertools
import math

import numpy as np
import pytest

from graphsqueak import StreamSparsifier, certify, sparsify
from graphsqueak.graph import EdgeList
from graphsqueak.sources import complete, cycle, erdos_renyi
from graphsqueak.sparsifiers import Forecast, SparsifyConfig, run, run_sparsify
from graphsqueak.sparsifiers.edge_search import MAX_RUNS, EdgeSearch
from graphsqueak.sparsifiers.error_prediction import ErrorCurve, sampling_error
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges

DENSE = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))


def social_graph(n_nodes=1200, n_edges=9000, seed=90_127):
    """About 7 edges per node, heavy-tailed degrees, a few percent of pendant nodes."""
    rng = np.random.default_rng(seed)
    attraction = (1 - rng.random(n_nodes)) ** (-1 / 1.5)
    ends = rng.choice(n_nodes, size=(n_edges, 2), p=attraction / attraction.sum())
    pendant = np.setdiff1d(np.arange(n_nodes), ends)
    hosts = rng.choice(np.unique(ends), size=pendant.size)
    tail = np.concatenate([ends[:, 0], pendant])
    head = np.concatenate([ends[:, 1], hosts])
    return EdgeList(tail=tail, head=head, n_nodes=n_nodes).simplified()


def search_with(measure, *, epsilon, n_edges, curve=DENSE):
    """Run a search against a known error `measure(n_edges)`."""
    search = EdgeSearch(epsilon, curve)
    tried = []
    while not search.is_finished:
        tried.append(n_edges)
        search.record(n_edges, measure(n_edges))
        n_edges = search.next_n_edges
    return search, tried


@pytest.mark.parametrize("first", [100, 1000, 4000, 30_000])
def test_a_search_comes_within_a_tenth_from_below_and_from_above(first):
    """The curve is wrong by a factor of 5 in the error, so an error of 0.1 takes 2,500 edges."""
    search, tried = search_with(lambda n: 5 / math.sqrt(n), epsilon=0.1, n_edges=first)
    assert 2500 <= search.fewest_met <= 1.1 * 2500
    assert len(tried) <= MAX_RUNS


@pytest.mark.parametrize("power", [0.4, 0.7, 1.5])
@pytest.mark.parametrize("first", [500, 20_000])
def test_a_curve_of_the_wrong_shape_is_corrected_by_brackets(power, first):
    needed = 4000
    search, tried = search_with(lambda n: 0.2 * (needed / n) ** power, epsilon=0.2, n_edges=first)
    assert needed <= search.fewest_met
    assert search.fewest_met <= 1.1 * needed or len(tried) >= MAX_RUNS
    met = [n for n in tried if n >= needed]
    assert search.fewest_met == min(met)


def test_a_later_miss_with_fewer_edges_does_not_forget_an_earlier_one():
    """Between the most edges that missed and the fewest that met, in any order of the runs."""
    runs = ((1000, 0.11), (4000, 0.05), (900, 0.115), (5000, 0.04))
    for order in itertools.permutations(runs, 3):
        search = EdgeSearch(0.1, DENSE)
        for n_edges, error in order:
            search.record(n_edges, error)
        missed = [n_edges for n_edges, error in order if error > 0.1]
        met = [n_edges for n_edges, error in order if error <= 0.1]
        assert search.most_missed == max(missed)
        assert search.fewest_met == min(met)
        assert max(missed) < search.next_n_edges < min(met)


def test_a_search_goes_on_beyond_the_last_run_until_epsilon_is_met():
    search, tried = search_with(lambda n: math.inf if n < 50_000 else 0.05, epsilon=0.1, n_edges=10)
    assert len(tried) > MAX_RUNS
    assert search.fewest_met >= 50_000
    assert all(later > before for before, later in itertools.pairwise(tried))


def test_a_first_run_as_predicted_ends_the_search():
    """With an error of 0.098 at 103 edges, the curve suggests about 100 edges for 0.1."""
    search, tried = search_with(lambda n: 0.098, epsilon=0.1, n_edges=103)
    assert tried == [103]
    assert search.n_runs == 1


def test_one_error_does_not_outweigh_the_prediction():
    """With 777 edges an error of 0.098 is larger than predicted, so fewer edges are tried."""
    search, tried = search_with(lambda n: 0.098, epsilon=0.1, n_edges=777)
    assert tried[1] < 777
    assert search.fewest_met == min(tried)


def test_the_best_run_is_reported_and_not_the_last_one():
    search = EdgeSearch(0.1, DENSE)
    assert search.record(900, 0.05)
    assert not search.record(300, 0.2)
    assert search.record(500, 0.09)
    assert not search.record(600, 0.08)
    assert (search.fewest_met, search.most_missed) == (500, 300)


def test_a_stream_that_dropped_edges_has_an_error_even_if_it_keeps_all_that_are_left():
    stream = StreamSparsifier(epsilon=0.5, random_state=3).partial_fit(complete(400))
    kept = stream.sparsifier()
    curve = stream.error_curve_
    assert curve.error_at(kept.n_edges) == pytest.approx(0.5, rel=0.05)
    assert curve.error_at(stream.n_edges_seen_) == 0.0
    assert curve.error_at(2 * kept.n_edges) == pytest.approx(0.5 / math.sqrt(2), rel=0.1)


def test_an_error_is_met_on_a_sparse_graph_with_few_edges():
    """Counted as for a dense graph, 8.8 edges per node, all 7 that there are would be kept."""
    graph = social_graph()
    result = run_sparsify(graph, SparsifyConfig(epsilon=0.5, random_state=11))
    kept = result.sparsifier
    assert result.certificate.meets(0.5)
    assert kept.n_edges < 0.75 * graph.n_edges < 8.8 * graph.n_nodes
    fewer = sparsify(graph, n_edges=int(kept.n_edges / 1.1), random_state=11)
    assert result.n_runs >= MAX_RUNS or not certify(graph, fewer).meets(0.5)
    assert np.array_equal(kept.weight, sparsify(graph, epsilon=0.5, random_state=11).weight)


@pytest.mark.parametrize("epsilon", [0.25, 0.5])
def test_an_error_on_a_dense_graph_takes_what_dense_graphs_need(epsilon):
    graph = complete(400).to_edge_list()
    kept = sparsify(graph, epsilon=epsilon, random_state=12)
    assert kept.certificate.meets(epsilon)
    assert kept.n_edges <= 1.15 * 2 * 400 / epsilon**2


def test_a_larger_error_never_takes_more_edges():
    graph = erdos_renyi(900, 9000, random_state=5).to_edge_list()
    sizes = [sparsify(graph, epsilon=e, random_state=13).n_edges for e in (0.2, 0.4, 0.6, 0.8)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.6 * graph.n_edges


def test_a_graph_that_needs_all_its_edges_keeps_them():
    result = run_sparsify(cycle(60), SparsifyConfig(epsilon=0.9))
    assert result.stream.is_exact_
    assert result.sparsifier.n_edges == 60
    assert result.certificate.epsilon_upper == 0.0


def test_a_stream_that_is_read_once_predicts_for_its_own_graph():
    graph = social_graph()
    stream = StreamSparsifier(epsilon=0.5, random_state=14).partial_fit(graph)
    kept = stream.sparsifier()
    assert not stream.is_exact_
    assert stream.budget_ < 0.75 * graph.n_edges
    assert 0.9 * stream.budget_ <= kept.n_edges <= stream.budget_
    assert stream.epsilon_predicted_ == pytest.approx(0.5, rel=0.05)
    again = Forecast(graph).fraction_for(0.5) * graph.n_edges
    assert stream.budget_ == pytest.approx(again, rel=0.05)
    stream.partial_fit(complete(1200))  # nothing is known of the graph that it has become
    assert stream.error_curve_ is None


def test_the_certificates_of_all_runs_fail_together_with_probability_delta(monkeypatch):
    """The result is the best of several measured runs, so their deltas must sum to delta."""
    deltas = []

    def recorded(*arguments, **named):
        deltas.append(named["delta"])
        return certify(*arguments, **named)

    monkeypatch.setattr(run, "certify", recorded)
    stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    config = SparsifyConfig(epsilon=0.5, delta=0.03, random_state=4)
    result = run.certify_and_search(complete(200), stream, stream.sparsifier(), config)
    assert result.n_runs == len(deltas) > 1
    assert deltas == [0.03 / 2**number for number in range(1, len(deltas) + 1)]


def test_edges_dropped_before_have_the_mean_leverage_of_all():
    """V = 1 / c - t with c = 990 / 99 and t = 99 / 49,500: one edge in ten is left."""
    graph = complete(100).to_edge_list()
    edges = SampledEdges(graph.tail, graph.head, graph.weight, np.zeros(4950, bool))
    columns = (edges, np.full(4950, 2 / 100))
    whole = sampling_error(*columns, 990, n_nodes=100)
    rest = sampling_error(*columns, 990, n_nodes=100, n_seen=49_500)
    assert whole == pytest.approx(math.sqrt(2 * (0.1 - 0.02)))
    assert rest == pytest.approx(math.sqrt(2 * (0.1 - 0.002)))
