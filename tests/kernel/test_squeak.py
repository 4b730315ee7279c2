"""SQUEAK: blocks, trees and merges are one chain; probabilities never rise."""

import pickle

import numpy as np
import pytest
from scipy.optimize import brentq

from graphsqueak import InputError
from graphsqueak.kernel import SQUEAK, ExactRLS, as_kernel
from graphsqueak.kernel.samplers.merging import MergeRule, leaf, merge_nodes
from graphsqueak.randomness import child_seed
from tests import reference
from tests.kernel.problems import clusters, gaussian_matrix

PARAMS = {"gamma": 0.5}
SETTINGS = {"kernel_params": PARAMS, "random_state": 21}


@pytest.mark.parametrize("size", [{"n_copies": 6}, {"n_landmarks": 30, "ridge": "auto"}])
def test_how_rows_are_cut_into_calls_does_not_matter(size):
    X = clusters(500)
    whole = SQUEAK(**SETTINGS, **size, horizon=500).fit(X)
    pieces = SQUEAK(**SETTINGS, **size, horizon=500)
    for start, stop in ((0, 1), (1, 2), (2, 150), (150, 151), (151, 500)):
        pieces.partial_fit(X[start:stop])
        assert pieces.indices_.max() < stop  # a look changes nothing
    np.testing.assert_array_equal(whole.indices_, pieces.indices_)
    np.testing.assert_array_equal(whole.weights_, pieces.weights_)
    assert whole.ridge_ == pieces.ridge_


def test_probabilities_never_rise_and_copies_never_come_back():
    X, rng = clusters(300), np.random.default_rng(3_310)
    rule = MergeRule(as_kernel("rbf", PARAMS), 1.0, 0.5, n_copies=5, size=None)
    node, before = leaf(rule, X[:30], 0), {}
    for start in range(30, 300, 30):
        node = merge_nodes([node, leaf(rule, X[start : start + 30], start)], rng, rule=rule)
        now = {row: (p, q) for row, p, q in zip(node.rows, node.prob, node.copies, strict=True)}
        for row in now.keys() & before.keys():
            assert now[row][0] <= before[row][0]
            assert now[row][1] <= before[row][1]
        before = now
    assert min(p for p, _ in before.values()) < 0.3


def replay(X, parts, **settings):
    """The landmarks (rows, p, q) of one merge of the reference, those without copies left out."""
    rows = np.concatenate([part[0] for part in parts])
    p, q = reference.squeak_merge([(X[part[0]], *part[1:]) for part in parts], **settings)
    return rows[q > 0], p[q > 0], q[q > 0]


def raw(rows, n_copies):
    """Raw points as an exact part."""
    return rows, np.ones(rows.size), np.full(rows.size, n_copies), True


def linear_points(n_points, *, seed=20_441):
    """Points in R^3 of uneven length, several of them alike, for the linear kernel."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_points, 3)) * rng.uniform(0.2, 2.0, size=(n_points, 1))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("n_inexact", [0, 1, 2, 3])
def test_a_merge_is_the_loop_of_the_listing(n_inexact, epsilon):
    """Probabilities and copies are those of the listing, for raw points and inexact parts."""
    X = linear_points(120)
    settings = {"n_copies": 40, "ridge": 2.0, "epsilon": epsilon}
    rule = MergeRule(as_kernel("linear"), 2.0, epsilon, n_copies=40, size=None)
    nodes, parts = [], []
    for number in range(3):
        rows = np.arange(40 * number, 40 * (number + 1))
        node, part = leaf(rule, X[rows], rows[0]), raw(rows, 40)
        if number < n_inexact:
            node = merge_nodes([node], number, rule=rule)
            part = *replay(X, [part], rng=np.random.default_rng(number), **settings), False
        nodes.append(node)
        parts.append(part)
    merged = merge_nodes(nodes, 8, rule=rule)
    rows, p, q = replay(X, parts, rng=np.random.default_rng(8), **settings)
    assert 10 < rows.size < 120
    np.testing.assert_array_equal(merged.rows, rows)
    np.testing.assert_array_equal(merged.copies, q)
    np.testing.assert_allclose(merged.prob, p, rtol=1e-9)
    assert not merged.is_exact


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_merge_to_a_fixed_size_has_the_chances_of_the_formula(share):
    """min(1, c ((1 - s) tau_i + s mean(tau))), c such that the chances add up to the size."""
    X = linear_points(60)
    rule = MergeRule(as_kernel("linear"), 2.0, 0.5, n_copies=1, size=15, uniform_share=share)
    node = merge_nodes([leaf(rule, X, 0)], 8, rule=rule)
    tau = reference.kernel_leverage(X @ X.T, 2.0)
    score = (1 - share) * tau + share * tau.mean()
    c = brentq(lambda c: np.minimum(1.0, c * score).sum() - 15, 1e-6, 1e6, xtol=1e-12)
    chances = np.minimum(1.0, c * score)
    assert node.rows.size == 15
    assert np.count_nonzero(chances == 1) >= 1
    np.testing.assert_allclose(node.prob, chances[node.rows], rtol=1e-6)


def test_a_stream_and_a_merge_of_two_streams_are_chains_of_the_listing():
    X = linear_points(200)
    settings = {"n_copies": 40, "ridge": 2.0, "epsilon": 0.6}
    public = {"kernel": "linear", "batch_size": 20, **settings}
    one = SQUEAK(random_state=1, **public).fit(X[:120])
    two = SQUEAK(random_state=2, **public).fit(X[120:])
    ends = []
    for d, first, stop in ((one, 0, 120), (two, 120, 200)):
        part = None
        for number, start in enumerate(range(first, stop, 20)):
            fresh = raw(np.arange(start, start + 20), 40)
            rng = np.random.default_rng(child_seed(d.seed_, number))
            parts = [fresh] if part is None else [part, fresh]
            part = *replay(X, parts, rng=rng, **settings), False
        np.testing.assert_array_equal(d.indices_, part[0] - first)
        np.testing.assert_allclose(d.weights_, part[2] / (40 * part[1]), rtol=1e-8)
        ends.append(part)
    both = one.merge(two)
    rng = np.random.default_rng(child_seed(child_seed(one.seed_, two.seed_ % 2**32), 0))
    rows, p, q = replay(X, ends, rng=rng, **settings)
    np.testing.assert_array_equal(both.indices_, rows)
    np.testing.assert_allclose(both.weights_, q / (40 * p), rtol=1e-8)


@pytest.mark.parametrize("arity", ["balanced", 3])
def test_a_tree_sees_every_row_and_depends_on_its_seed_alone(arity):
    X = clusters(600)
    trees = [
        SQUEAK(kernel_params=PARAMS, random_state=seed, n_copies=6, tree=arity, batch_size=64).fit(
            X
        )
        for seed in (21, 21, 22)
    ]
    np.testing.assert_array_equal(trees[0].indices_, trees[1].indices_)
    np.testing.assert_array_equal(trees[0].weights_, trees[1].weights_)
    assert not np.array_equal(trees[0].indices_, trees[2].indices_)
    assert trees[0].n_seen_ == 600
    assert trees[0].indices_.max() > 500


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_jobs": 2}, "need a tree"),
        ({"n_jobs": 2, "tree": "balanced", "kernel": "precomputed"}, "sent to every worker"),
    ],
)
def test_workers_need_a_tree_and_points(wrong, said):
    with pytest.raises(InputError, match=said):
        SQUEAK(n_copies=5, **wrong).fit(np.eye(4))


@pytest.mark.slow
def test_point_by_point_blocks_tree_and_oracle_have_the_same_errors():
    """Medians of 30 runs each; the spread of a median is about 1.25 sd / sqrt(30)."""
    K = gaussian_matrix(clusters(60))
    shapes = [
        (SQUEAK, {"batch_size": 1}),
        (SQUEAK, {"batch_size": 15}),
        (SQUEAK, {"batch_size": 15, "tree": "balanced"}),
        (ExactRLS, {}),
    ]
    errors = []
    for sampler, shape in shapes:
        runs = [
            sampler(kernel="precomputed", n_copies=60, random_state=13 * run + 1, epsilon=0.05)
            .set_params(**shape)
            .fit(K)
            .accuracy(K)
            for run in range(30)
        ]
        errors.append(runs)
    median = np.median(errors, axis=1)
    sigma = 1.25 * np.std(errors, axis=1) / np.sqrt(30)
    for chain in range(3):
        # a chain estimates with its own error and pays rho at most: factor sqrt(rho), here 1.1
        noise = 6 * np.hypot(sigma[chain], sigma[3])
        assert abs(median[chain] - median[3]) <= 0.2 * median[3] + noise


def test_merging_two_streams_is_a_dictionary_of_both():
    X = clusters(400)
    one = SQUEAK(**SETTINGS, n_copies=40).fit(X[:250])
    two = SQUEAK(kernel_params=PARAMS, random_state=22, n_copies=40).fit(X[250:])
    both = one.merge(two)
    assert both.n_seen_ == 400
    np.testing.assert_array_equal(both.components_, X[both.indices_])
    assert both.indices_.max() >= 250
    assert both.accuracy(X) < 0.7
    again = one.merge(two)
    np.testing.assert_array_equal(both.weights_, again.weights_)
    assert both.partial_fit(X[:5]).n_seen_ == 405
    assert one.n_seen_ == 250


def one_direction(n_points):
    """Points that are almost one and the same, so that theory budgets drop most of them."""
    return 1e-3 * np.random.default_rng(83_218).normal(size=(n_points, 1))


def test_a_merge_with_too_few_copies_for_the_promise_is_refused():
    """A chain of 75 points plans for 2,409 copies, and a merge of two needs 4,375."""
    X = one_direction(150)
    one, two = (SQUEAK(budget="theory", random_state=7).fit(half) for half in (X[:75], X[75:]))
    assert one.n_copies_ == 2409
    with pytest.raises(InputError, match=r"needs 4375 copies .* of 150 points, .* have 2409") as e:
        one.merge(two)
    assert "tree='balanced' and horizon=150, or with n_copies=4375" in str(e.value)
    practical = SQUEAK(n_copies=2409, random_state=8).fit(X[75:])
    with pytest.raises(InputError, match="different budget"):
        one.merge(practical)


@pytest.mark.parametrize("plan", [{"tree": "balanced", "horizon": 1000}, {"n_copies": 5361}])
def test_a_merge_that_was_planned_for_keeps_the_promise(plan):
    """Each failure has probability delta = 0.1, and the proof is loose: none in eight runs."""
    X = one_direction(1000)
    settings = {"ridge": 18_000.0, "budget": "theory", **plan}
    for seed in range(8):
        one = SQUEAK(random_state=seed, **settings).fit(X[:400])
        two = SQUEAK(random_state=100 + seed, **settings).fit(X[400:])
        both = one.merge(two)
        assert both.n_copies_ == 5361
        assert both.indices_.size < 800
        assert both.accuracy(X) <= 0.5


def test_a_merged_dictionary_warns_when_its_copies_no_longer_suffice():
    """At 4,500 copies the promise of a merge holds for 191 points."""
    X = one_direction(300)
    settings = {"budget": "theory", "ridge": 1e4, "n_copies": 4500}
    one = SQUEAK(random_state=7, **settings).fit(X[:75])
    both = one.merge(SQUEAK(random_state=8, **settings).fit(X[75:150]))
    both.partial_fit(X[150:191])
    with pytest.warns(UserWarning, match="point 192 is beyond horizon=191"):
        both.partial_fit(X[191:])


def test_merges_are_unbiased():
    K = gaussian_matrix(clusters(20, seed=6_120))
    X = np.linalg.cholesky(K + 1e-9 * np.eye(20))
    total = square = 0.0
    for run in range(250):
        one, two = (
            SQUEAK(kernel="linear", n_copies=3, batch_size=4, random_state=2 * run + side)
            for side in (0, 1)
        )
        both = one.fit(X[:10]).merge(two.fit(X[10:]))
        weight = np.zeros(20)
        weight[both.indices_] = both.weights_
        total, square = total + weight, square + weight**2
    sigma = np.sqrt((square / 250 - (total / 250) ** 2) / 250)
    assert np.all(np.abs(total / 250 - 1) <= 6 * sigma)


def test_a_dictionary_survives_pickling_in_mid_stream():
    X = clusters(300)
    d = SQUEAK(**SETTINGS, n_landmarks=20).partial_fit(X[:130])
    thawed = pickle.loads(pickle.dumps(d))  # noqa: S301
    np.testing.assert_array_equal(
        d.partial_fit(X[130:]).weights_, thawed.partial_fit(X[130:]).weights_
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"ridge": 2.0}, "different ridge"),
        ({"kernel": "laplacian"}, "different kernel"),
        ({"n_copies": 7}, "7 copies"),
    ],
)
def test_only_like_merges_with_like(other, message):
    X = clusters(30)
    one = SQUEAK(n_copies=5).fit(X)
    with pytest.raises(InputError, match=message):
        one.merge(SQUEAK(n_copies=5).set_params(**other).fit(X))


def test_a_kernel_matrix_cannot_be_continued_or_merged():
    one = SQUEAK(kernel="precomputed", n_copies=2).fit(np.eye(3))
    with pytest.raises(InputError, match="call fit"):
        one.partial_fit(np.eye(3))
    with pytest.raises(InputError, match="two kernel matrices"):
        one.merge(one)


def test_a_uniform_share_gives_crowds_their_landmarks_and_loses_no_outlier():
    """950 points in a crowd, 50 far from all: leverage alone gives the crowd a landmark or two.

    If a fraction s of the landmarks is sampled uniformly, the crowd gets about s of them times its
    fraction of the points. Weights stay unbiased, so that their sum is the number of points.
    """
    rng = np.random.default_rng(64_077)
    X = np.concatenate([0.01 * rng.normal(size=(950, 1)), 10.0 * (1 + np.arange(50)[:, None])])
    X = X[rng.permutation(1000)]
    in_crowd, totals = {}, []
    for share in (0.0, 0.5):
        how = {"n_landmarks": 60, "ridge": 1.0, "uniform_share": share, "kernel_params": PARAMS}
        made = [SQUEAK(random_state=seed, **how).fit(X) for seed in range(20)]
        in_crowd[share] = np.mean([(np.abs(d.components_) < 1).sum() for d in made])
        totals += [d.weights_.sum() for d in made if share]
    assert in_crowd[0.0] < 15
    assert in_crowd[0.5] > in_crowd[0.0] + 10
    deviation = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - 1000) < 6 * deviation
    with pytest.raises(InputError, match="uniform_share"):
        SQUEAK(uniform_share=1.0).fit(X)
