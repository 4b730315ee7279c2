"""Results of the estimators of `graphsqueak.ssl` on small graphs."""

import io

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

import graphsqueak as gs
from graphsqueak.graph import TimedEdges
from graphsqueak.ssl import detection_report, find_positives, flag_positives
from tests.golden.arrays import named
from tests.golden.graphs import block_graph, components_graph, hide_labels, points_in_clusters

__all__ = ["STAGES"]

# Distributions are recorded at every third node, decisions at all of them.
SAMPLED_NODES = slice(None, None, 3)


def three_blocks(*, within=0.5):
    """Three classes, 180 nodes and 5,400 edges, and the class of every node."""
    return block_graph([80, 60, 40], n_edges=5400, within=within, seed=51)


def three_classes():
    """The same graph with 15 labels."""
    graph, truth = three_blocks()
    return graph, hide_labels(truth, per_class=[5, 5, 5], seed=52)


def many_labels():
    """42 labels of the same nodes."""
    return hide_labels(three_blocks()[1], per_class=[20, 14, 8], seed=55)


def rare_class():
    """One node in fifteen is of the second class: 240 nodes, 3,600 edges, 44 labels."""
    graph, truth = block_graph([224, 16], n_edges=3600, within=0.6, seed=53)
    return graph, hide_labels(truth, per_class=[40, 4], seed=54), truth


def as_pipe(graph):
    """The graph as a stream that can be read once."""
    rows = zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True)
    text = "".join(f"{tail}\t{head}\t{weight!r}\n" for tail, head, weight in rows)
    return gs.read_edges(io.BytesIO(text.encode()))


def classified(model):
    """What a fitted classifier reports."""
    found = {
        "transduction": model.transduction_,
        "distributions": model.label_distributions_[SAMPLED_NODES],
        "n_reached": np.array(np.count_nonzero(model.has_label_in_component_)),
    }
    names = ("eta_", "prior_weight_", "threshold_")
    chosen = [getattr(model, name) for name in names if hasattr(model, name)]
    if chosen:
        found["eta_prior_weight_cut"] = np.array(chosen, dtype=float)
    return found


def streamed(model):
    """What a fitted streaming classifier reports."""
    counts = [model.n_passes_, model.n_edges_seen_, model.n_edges_used_, model.n_sums_]
    undecided = -1 if model.n_unstable_ is None else model.n_unstable_
    return classified(model) | {"counts": np.array([*counts, undecided])}


def regressed(model):
    """What a fitted regressor reports."""
    return {"values": model.predict()[SAMPLED_NODES], "eta": np.array(model.eta_)}


def stable_hfs():
    """Stable-HFS in memory: chosen and given parameters, weights, components without a label."""
    graph, y = three_classes()
    many = many_labels()
    sample_weight = np.random.default_rng(56).uniform(0.1, 2.0, size=y.size)
    settings = {
        "chosen": ({}, y, None),
        "given": ({"eta": 0.05, "prior_weight": 0.5}, y, None),
        "many_labels": ({}, many, None),
        "balanced": ({"class_weight": "balanced"}, many, None),
        "class_weight": ({"class_weight": {0: 3.0}}, y, None),
        "sample_weight": ({}, y, sample_weight),
    }
    results = {}
    for name, (parameters, labels, weight) in settings.items():
        model = gs.StableHFSClassifier(**parameters, random_state=1)
        results[name] = classified(model.fit(graph, labels, sample_weight=weight))
    parted, truth = components_graph(57)
    labels = hide_labels(np.append(truth[:120], [-1] * 4), per_class=[4, 4], seed=58)
    for unknown in ("prior", -1):
        model = gs.StableHFSClassifier(unknown=unknown, random_state=1).fit(parted, labels)
        results[f"components_{unknown}"] = classified(model)
    points, cluster = points_in_clusters(150, 3, seed=59)
    labels = hide_labels(cluster, per_class=[4, 3, 3, 3, 2], seed=60)
    model = gs.StableHFSClassifier(affinity="knn", n_neighbors=6, random_state=1)
    results["neighbors"] = classified(model.fit(points, labels))
    return named(results)


def stable_hfs_bounds():
    """Error bounds and predictions for new nodes."""
    graph, y = three_classes()
    found = {}
    for name, eta in (("chosen", "auto"), ("given", 0.05)):
        model = gs.StableHFSClassifier(eta=eta, random_state=1).fit(graph, y)
        found[f"{name}_bound"] = np.array([model.bound_.value, model.bound_.vacuous])
        found[f"{name}_decision"] = model.decision_function()[SAMPLED_NODES]
        links = np.random.default_rng(61).random((4, graph.n_nodes)) ** 8
        found[f"{name}_new"] = model.predict_new(links)
    return found


def class_sizes():
    """Decisions that meet class sizes: by offsets of the scores and by a cut."""
    graph, y = three_classes()
    rare, rare_y, _ = rare_class()
    results = {}
    for name, parameters in (
        ("labels", {"class_sizes": "labels"}),
        ("estimated", {"class_sizes": "auto"}),
        ("given", {"class_sizes": {0: 80, 1: 60, 2: 40}}),
        ("sizes", {"decision": "sizes"}),
        ("cut", {"decision": "cut"}),
        ("cut_given", {"decision": "cut", "class_sizes": {0: 80, 1: 60, 2: 40}}),
    ):
        model = gs.StableHFSClassifier(**parameters, random_state=1)
        results[name] = classified(model.fit(graph, y))
        if "given" in name:
            model.set_params(class_sizes={0: 224, 1: 16})
        results[f"rare_{name}"] = {"transduction": model.fit(rare, rare_y).transduction_}
    return named(results)


def rare_classes():
    """Scores of a rare class, the nodes flagged and the figures reported about them."""
    graph, y, truth = rare_class()
    results = {}
    known = np.flatnonzero(y >= 0).tolist()
    by_id = dict(enumerate(truth.tolist()))
    for name, model in (
        ("stable", gs.StableHFSClassifier(random_state=1)),
        ("balanced", gs.StableHFSClassifier(class_weight="balanced", random_state=1)),
        ("streamed", gs.SparseHFSClassifier(n_edges=900, random_state=1)),
        ("one_pass", gs.SparseHFSClassifier(n_edges=900, max_passes=1, random_state=1)),
    ):
        results[name] = classified(model.fit(graph, y))
        for option in ({}, {"top": 10}, {"min_score": 0.3}, {"recall": 0.5}):
            _, flagged, report = find_positives(model, 1, known=known, truth=by_id, **option)
            label = "".join(f"_{key}" for key in option)
            numbers = [value for value in report.values() if isinstance(value, int | float)]
            results[name][f"flagged{label}"] = np.flatnonzero(flagged)
            results[name][f"report{label}"] = np.array(numbers, dtype=float)
    scores = np.random.default_rng(62).random(60)
    left_out = np.random.default_rng(64).random(20)
    flagged = flag_positives(scores, recall=0.4, left_out=left_out)
    report = detection_report(scores > np.random.default_rng(63).random(60), scores, flagged)
    numbers = [value for value in report.values() if isinstance(value, int | float)]
    results["scores"] = {"flagged": np.flatnonzero(flagged), "report": np.array(numbers, float)}
    return named(results)


def prediction_sets():
    """Conformal prediction sets: labels left out one by one and in folds."""
    graph, truth = three_blocks(within=0.3)
    y = hide_labels(truth, per_class=[5, 5, 5], seed=52)
    many = hide_labels(truth, per_class=[40, 30, 20], seed=64)
    found = {}
    for name, model, labels in (
        ("stable", gs.StableHFSClassifier(random_state=1), y),
        ("stable_given", gs.StableHFSClassifier(eta=0.05, prior_weight=0.0, random_state=1), y),
        ("stable_many", gs.StableHFSClassifier(random_state=1), many),
        ("streamed", gs.SparseHFSClassifier(n_edges=900, random_state=1), y),
        ("one_pass", gs.SparseHFSClassifier(n_edges=900, max_passes=1, random_state=1), y),
        ("harmonic", gs.HFSClassifier(random_state=1), y),
        ("nearest_many", gs.NearestLabelClassifier(random_state=1), many),
    ):
        sets = model.fit(graph, labels).prediction_sets(0.15)
        found[name] = np.packbits(sets, axis=0)
    return found


def sparse_hfs_several_passes():
    """Sparse-HFS on a source that can be read again."""
    graph, y = three_classes()
    results = {}
    for name, parameters in (
        ("chosen", {"n_edges": 900}),
        ("keep", {"keep": 0.3}),
        ("epsilon", {"epsilon": 0.6}),
        ("two_passes", {"n_edges": 900, "max_passes": 2}),
        ("three_passes", {"n_edges": 900, "max_passes": 3}),
        ("given_eta", {"n_edges": 900, "eta": 0.05}),
        ("priority_fraction", {"n_edges": 900, "priority_fraction": 0.3}),
        ("sizes", {"n_edges": 900, "class_sizes": "auto"}),
        ("cut", {"n_edges": 900, "decision": "cut"}),
        ("class_weight", {"n_edges": 900, "class_weight": {0: 3.0}}),
        ("fits", {"n_edges": 10_000}),
    ):
        model = gs.SparseHFSClassifier(**parameters, random_state=1).fit(graph, y)
        results[name] = streamed(model)
        if name in ("chosen", "given_eta"):
            results[name]["bound"] = np.array([model.bound_.value, model.bound_.vacuous])
    return named(results)


def sparse_hfs_one_pass():
    """Sparse-HFS on a stream that can be read once, with few and with many labels."""
    graph, y = three_classes()
    many = many_labels()
    results = {}
    for name, parameters, labels in (
        ("summed", {}, y),
        ("many_labels", {}, many),
        ("plain", {"priority_fraction": 0.0}, y),
        ("priority_fraction", {"priority_fraction": 0.4}, y),
        ("class_weight", {"class_weight": {0: 3.0}}, y),
        ("sizes", {"class_sizes": "labels"}, y),
    ):
        model = gs.SparseHFSClassifier(n_edges=900, **parameters, random_state=1)
        by_id = {int(node): int(labels[node]) for node in np.flatnonzero(labels >= 0)}
        results[f"pipe_{name}"] = streamed(model.fit(as_pipe(graph), by_id))
    model = gs.SparseHFSClassifier(n_edges=900, max_passes=1, random_state=1)
    results["single_pass"] = streamed(model.fit(graph, y))
    return named(results)


def sparse_hfs_updates():
    """Edges in three parts with `partial_fit`, then other labels."""
    graph, y = three_classes()
    model = gs.SparseHFSClassifier(n_edges=900, random_state=1)
    model.partial_fit(graph.part(0, 2000), y)
    # Labels are computed when they are needed.
    found = {"first": model.predict()}
    model.partial_fit(graph.part(2000, 4000)).partial_fit(graph.part(4000))
    found["last"] = model.predict()
    found["last_distributions"] = model.predict_proba()[SAMPLED_NODES]
    model.relabel(np.where(y == 2, -1, y))
    found["relabelled"] = model.predict()
    found["relabelled_distributions"] = model.predict_proba()[SAMPLED_NODES]
    return found


def sparse_hfs_times():
    """Labels on recent edges: a window and a half-life, in several passes and in one."""
    graph, y = three_classes()
    time = np.sort(np.random.default_rng(65).uniform(0.0, 100.0, size=graph.n_edges))
    edges = TimedEdges(
        tail=graph.tail, head=graph.head, weight=graph.weight, time=time, n_nodes=graph.n_nodes
    )
    results = {}
    for name, parameters in (
        ("window", {"window": 60.0}),
        ("half_life", {"half_life": 20.0}),
        ("window_one_pass", {"window": 60.0, "max_passes": 1}),
        ("half_life_one_pass", {"half_life": 20.0, "max_passes": 1}),
    ):
        model = gs.SparseHFSClassifier(n_edges=900, **parameters, random_state=1)
        results[name] = streamed(model.fit(edges, y))
    return named(results)


def regressors():
    """Regression in memory, in several passes, in one pass and with weights."""
    graph, truth = three_blocks()
    rng = np.random.default_rng(66)
    y = np.full(graph.n_nodes, np.nan)
    nodes = rng.choice(graph.n_nodes, size=30, replace=False)
    y[nodes] = 2.0 * truth[nodes] + rng.normal(size=30)
    weight = rng.uniform(0.1, 2.0, size=graph.n_nodes)
    by_id = {int(node): float(y[node]) for node in nodes}
    once = as_pipe(graph)
    return named(
        {
            "stable": regressed(gs.StableHFSRegressor(random_state=1).fit(graph, y)),
            "stable_given": regressed(gs.StableHFSRegressor(eta=0.1, random_state=1).fit(graph, y)),
            "stable_weights": regressed(
                gs.StableHFSRegressor(random_state=1).fit(graph, y, weight)
            ),
            "sparse": regressed(gs.SparseHFSRegressor(n_edges=900, random_state=1).fit(graph, y)),
            "sparse_one_pass": regressed(
                gs.SparseHFSRegressor(n_edges=900, max_passes=1, random_state=1).fit(graph, y)
            ),
            "sparse_pipe": regressed(
                gs.SparseHFSRegressor(n_edges=900, random_state=1).fit(once, by_id)
            ),
        }
    )


def label_baselines():
    """The classifiers that Stable-HFS is compared with."""
    graph, y = three_classes()
    points, cluster = points_in_clusters(150, 3, seed=59)
    labels = hide_labels(cluster, per_class=[4, 3, 3, 3, 2], seed=60)
    results = {}
    for name, model in (
        ("harmonic", gs.HFSClassifier(random_state=1)),
        ("class_mass", gs.HFSClassifier(class_mass=True, random_state=1)),
        ("nearest", gs.NearestLabelClassifier(random_state=1)),
        ("poisson", gs.PoissonClassifier(random_state=1)),
        ("poisson_sizes", gs.PoissonClassifier(class_sizes="labels", random_state=1)),
        ("simple", gs.SimpleHFSClassifier(n_components=4, random_state=1)),
        ("simple_chosen", gs.SimpleHFSClassifier(random_state=1)),
        ("simple_sparse", gs.SimpleHFSClassifier(n_components=4, n_edges=900, random_state=1)),
        ("subsampled", gs.SubsampledHFSClassifier(n_samples=100, random_state=1)),
        ("eigenfunctions", gs.EigenfunctionClassifier(random_state=1)),
    ):
        results[name] = classified(model.fit(graph, y))
    for name, model in (
        ("class_mass_many", gs.HFSClassifier(class_mass=True, random_state=1)),
        ("poisson_many", gs.PoissonClassifier(class_sizes="labels", random_state=1)),
    ):
        results[name] = classified(model.fit(graph, many_labels()))
    model = gs.EigenfunctionClassifier(affinity="knn", n_components=8, random_state=1)
    results["eigenfunctions_points"] = classified(model.fit(points, labels))
    return named(results)


def node_features():
    """Stacked models of node features and the graph, and means over neighbors."""
    graph, truth = three_blocks()
    rng = np.random.default_rng(67)
    features = rng.normal(size=(graph.n_nodes, 3)) + 0.8 * np.eye(3)[truth]
    y = hide_labels(truth, per_class=[12, 10, 8], seed=68)
    many = hide_labels(truth, per_class=[45, 35, 25], seed=70)
    values = np.where(y >= 0, features[:, 0] + truth, np.nan)
    found = {}
    for hops in (6, 2):
        model = gs.GraphStacking(LogisticRegression(), hops=hops, random_state=1)
        model.fit(graph, y, features)
        found[f"stacking_{hops}"] = model.predict()
        found[f"stacking_{hops}_proba"] = model.predict_proba()[SAMPLED_NODES]
    model = gs.GraphStacking(LogisticRegression(), random_state=1).fit(graph, many, features)
    found["stacking_many"] = model.predict()
    found["stacking_many_proba"] = model.predict_proba()[SAMPLED_NODES]
    model = gs.GraphStacking(Ridge(), random_state=1).fit(graph, values, features)
    found["stacking_values"] = model.predict()[SAMPLED_NODES]
    means = gs.NeighborMeans(hops=2).fit_transform(features, graph=graph)
    found["neighbor_means"] = means[SAMPLED_NODES]
    return found


def cross_validation():
    """Scores of cross-validation and the folds of labels."""
    graph, truth = three_blocks()
    y = hide_labels(truth, per_class=[12, 10, 8], seed=68)
    features = np.random.default_rng(69).normal(size=(graph.n_nodes, 2)) + truth[:, None]
    found = {}
    in_memory = gs.StableHFSClassifier()
    streamed = gs.SparseHFSClassifier(n_edges=900, random_state=1)
    stacking = gs.GraphStacking(LogisticRegression(), hops=1, random_state=1)
    for name, estimator, parameters in (
        ("default", in_memory, {}),
        ("several", in_memory, {"scoring": ["accuracy", "f1_macro", "neg_log_loss"]}),
        ("streamed", streamed, {}),
        ("features", stacking, {"features": features}),
    ):
        scores = gs.cross_validate(estimator, graph, y, n_splits=3, random_state=2, **parameters)
        del scores["fit_time"]
        found |= {f"{name}_{key}": column for key, column in scores.items()}
    for number, (train, test) in enumerate(gs.GraphSplit(3, random_state=2).split(None, y)):
        found[f"train_{number}"] = train
        found[f"test_{number}"] = test
    return found


STAGES = {
    stage.__name__: stage
    for stage in (
        stable_hfs,
        stable_hfs_bounds,
        class_sizes,
        rare_classes,
        prediction_sets,
        sparse_hfs_several_passes,
        sparse_hfs_one_pass,
        sparse_hfs_updates,
        sparse_hfs_times,
        regressors,
        label_baselines,
        node_features,
        cross_validation,
    )
}
