"""Counter-based numbers: uniform, each a function of its own keys; keys that never meet."""

import ast
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import graphsqueak
from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, randomness, sources
from graphsqueak.randomness import Step, child_seed, mix64, shuffle, uniform, uniforms
from graphsqueak.sparsifiers.resistance import estimate
from graphsqueak.sparsifiers.stream import finalize, resparsify
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter

PACKAGE = Path(graphsqueak.__file__).parent
WORDS = {name: int(key) for name, key in vars(randomness).items() if name.endswith("_WORD")}
SEEDS = {name: int(key) for name, key in vars(randomness).items() if name.endswith("_SEED")}

# Where each named key is used. Two places share a key only if they never share a seed: check that
# before adding a place here.
USES = {
    "CYCLE_WORD": {"sources/projections/cliques.py"},
    "ITEM_WORD": {
        "sparsifiers/resistance/degrees.py",
        "sparsifiers/stream/arrival_filter.py",
        "sparsifiers/stream/pivotal_sampling.py",
    },
    "PIVOT_SEED": {"kernel/pivots.py"},
    "PROBE_SEED": {"sparsifiers/stream/cut_probes.py"},
    "Step.BRIDGES": {"sparsifiers/stream/finalize.py"},
    "Step.FINAL": {
        "kernel/samplers/kors.py",
        "kernel/samplers/squeak.py",
        "sparsifiers/stream/finalize.py",
        "sparsifiers/stream/kelner_levin.py",
        "sparsifiers/stream/timed_sparsifier.py",
        "sparsifiers/subgraph/subgraph.py",
    },
    "Step.FINAL_REFILTER": {"sparsifiers/stream/finalize.py"},
    "Step.MERGE": {
        "sparsifiers/stream/base_stream.py",
        "sparsifiers/stream/timed_sparsifier.py",
    },
    "Step.SKETCH": {"sparsifiers/stream/kelner_levin.py", "sparsifiers/subgraph/subgraph.py"},
    "ROUNDING_WORD": {"sparsifiers/stream/dependent_rounding.py"},
}
# Third words that count something, under a seed from which nothing else is drawn.
COUNTERS = {
    ("graph/forest.py", "np.uint64(head[e])"),
    ("outofcore/resistances.py", "np.uint64(first_word + word)"),
    ("sparsifiers/resistance/sketch.py", "high"),
    ("sparsifiers/stream/cut_probes.py", "np.uint64(0)"),
}


def test_uniforms_are_uniform_and_know_only_their_own_number():
    values = uniforms(90_210, 0, 100_000)
    counts = np.bincount((values * 50).astype(int), minlength=50)
    assert np.all(np.abs(counts - 2000) < 6 * np.sqrt(2000))
    np.testing.assert_array_equal(uniforms(90_210, 777, 900), values[777:900])
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 6 / np.sqrt(100_000)


def test_every_order_is_as_likely_within_a_heap():
    counts = np.zeros((5, 5))
    for seed in range(20_000):
        counts[np.arange(5), shuffle(np.arange(5), seed)] += 1
    assert np.all(np.abs(counts - 4000) < 6 * np.sqrt(4000 * 0.8))


def test_many_items_go_anywhere_and_none_is_lost():
    """Eight heaps: where an item lands has the mean and the neighbors of a random order."""
    n = 30_000
    order = shuffle(np.arange(n), 141_421)
    assert np.array_equal(np.sort(order), np.arange(n))
    for start in range(0, n, 5000):
        mean = order[start : start + 5000].mean() / n
        assert abs(mean - 0.5) < 6 * np.sqrt(1 / 12 / 5000)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 6 / np.sqrt(n)
    assert np.count_nonzero(np.diff(order) > 0) < n / 2 + 6 * np.sqrt(n / 12)
    assert not np.array_equal(order, shuffle(np.arange(n), 141_422))


def test_children_of_a_seed_differ():
    seeds = {child_seed(5, number) for number in range(1000)} | {child_seed(6, 0)}
    assert len(seeds) == 1001


def test_no_counted_step_has_the_number_of_a_named_one():
    assert len(set(Step)) == len(Step.__members__)
    assert min(Step) >= 2**40


def test_the_mixer_is_that_of_splitmix64():
    """The first numbers of the generator with seed 1234567, as its author publishes them."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        state = [np.uint64(1_234_567) + golden * np.uint64(i) for i in (1, 2)]
    assert [int(mix64(z)) for z in state] == [6457827717110365317, 3203168211198807973]


def test_no_two_words_and_no_two_fixed_seeds_are_equal():
    for keys in (WORDS, SEEDS):
        assert len(keys) > 1
        assert len(set(keys.values())) == len(keys)


def sources_by_name():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name != "randomness.py":
            yield name, ast.parse(path.read_text())


def test_every_named_key_is_used_where_it_is_listed_and_nowhere_else():
    found = {}
    for name, tree in sources_by_name():
        for node in ast.walk(tree):
            key = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
            if key in WORDS or key in SEEDS or key.startswith("Step."):
                found.setdefault(key, set()).add(name)
    assert found == USES


def test_every_draw_has_a_word_from_the_list():
    """A literal in place of a word could be the word of another draw."""
    others = set()
    for name, tree in sources_by_name():
        for node in ast.walk(tree):
            is_draw = isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "uniform",
                "random_bits",
            )
            if is_draw and ast.unparse(node.args[2]) not in WORDS:
                others.add((name, ast.unparse(node.args[2])))
    assert others == COUNTERS


@pytest.mark.parametrize(("one", "other"), list(combinations(sorted(WORDS), 2)))
def test_numbers_of_two_words_are_independent(one, other):
    """Within six sigma: correlations of the numbers, and how often both are small."""
    n = 2000
    columns = [
        np.array([uniform(np.uint64(31), np.uint64(k), np.uint64(WORDS[word])) for k in range(n)])
        for word in (one, other)
    ]
    assert abs(np.corrcoef(*columns)[0, 1]) < 6 / np.sqrt(n)
    both = np.count_nonzero((columns[0] < 0.2) & (columns[1] < 0.2))
    assert abs(both - 0.04 * n) < 6 * np.sqrt(0.04 * 0.96 * n)


def test_numbers_of_a_seed_and_of_its_children_are_independent():
    n, seed = 20_000, 104_729
    seeds = [seed, *(child_seed(seed, number) for number in (0, 1, 2, *Step))]
    seeds += [key >> 1 for key in seeds]  # a sketch takes half of the seed of a sample
    columns = np.array([uniforms(key, 0, n) for key in seeds])
    off_diagonal = np.corrcoef(columns)[np.triu_indices(len(seeds), 1)]
    assert np.abs(off_diagonal).max() < 6 / np.sqrt(n)


@pytest.mark.parametrize("min_nodes", [10, 10_000], ids=["from degrees", "by solving"])
def test_no_two_random_steps_of_a_run_share_a_seed(min_nodes, monkeypatch):
    """Filters, refilters, sketches, samples and bridges all have seeds of their own."""
    drawn = []

    def record(owner, name, step):
        original = getattr(owner, name)

        def recorded(*arguments, **named):
            # The filter itself, its edges, and the index of the first one.
            first = arguments[2] if step == "filter" else 0
            drawn.append((int(named["seed"]), step, first))
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, recorded)

    record(ArrivalFilter, "sample_edges", "filter")
    record(resparsify, "sample_edges", "sample")
    record(estimate, "precise_embedding", "sketch")
    record(estimate, "degree_sketch", "degree sketch")
    record(finalize, "sample_to_budget", "final sample")
    record(finalize, "find_bridges", "bridges")
    options = StreamOptions(chunk_size=500, degree_approx_min_nodes=min_nodes)
    graph = sources.erdos_renyi(100, 60_000, random_state=5).to_edge_list()
    half = EdgeList(tail=graph.tail // 2, head=graph.head // 2, n_nodes=100)
    stream = StreamSparsifier(n_edges=700, options=options, random_state=7)
    stream.partial_fit(half).partial_fit(graph).sparsifier()
    steps = {step for _, step, _ in drawn}
    assert {"filter", "final sample", "bridges"} < steps
    by_solving = {"sketch", "sample"}
    assert ({"degree sketch"} if min_nodes == 10 else by_solving) < steps
    assert len(set(drawn)) == len(drawn)
    step_of = {}
    for seed, step, _ in drawn:
        assert step_of.setdefault(seed, step) == step
