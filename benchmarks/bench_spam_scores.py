"""Scores of the spam filter: calibration, thresholds, and which mails to label next.

    python benchmarks/bench_spam_scores.py [--part PART] [--draws N]

On the points of the shipped mails and of spambase (logarithms, divided by their deviations): a
graph of 10 neighbors, labels at random. 1,000 mails are new; the others are in the graph, and those
without a label are the left-out ones. All parts but `mixture` are of the graph alone.

`mixture`: accuracy on left-out mails of the graph, of the linear model, of their mixture as in
`SpamFilter`, and of scikit-learn's linear models and naive Bayes on the same points.

`scores`: accuracy, flagged ham, caught spam, expected calibration error in ten bins of equal width,
and AUC of the class fractions ("before") and of the probabilities ("after"); then the bins.
`thresholds`: a threshold for a fraction of flagged ham, what it flags of the labeled ham when each
is left out, and of other ham. `labels`: accuracy after as many labels again, by several orders.
`rates`: estimated and true rates at 0.5, if 300 of 400 labels were chosen by these orders.
"""

import argparse
import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import graphsqueak as gs
from graphsqueak.mail import (
    ScoredMails,
    choose_threshold,
    expected_rates,
    fit_temperature,
    mails_to_label,
    probability_of_spam,
)
from graphsqueak.mail.linear import fit_linear, mixture_weight, scale_to

SEED = 314_159
N_NEW = 1000
RATES = (0.005, 0.01, 0.02, 0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=list(PARTS))
    parser.add_argument("--draws", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, points, truth in data_sets():
        study = Study(points, truth)
        for part, print_part in PARTS.items():
            if arguments.part in (None, part):
                print(f"\n{name}, {part}")
                print_part(study, arguments.draws)


def data_sets():
    mails = gs.datasets.load_spam()
    yield "mails", mails.points.tocsr(), mails.labels
    spambase = gs.datasets.load_spambase()
    points = np.log1p(np.asarray(spambase.points, dtype=np.float64))
    yield "spambase", scipy.sparse.csr_array(points / points.std(axis=0)), spambase.labels


class Study:
    """A graph of mails, and links of new mails to it."""

    def __init__(self, points, truth):
        order = np.random.default_rng(SEED).permutation(truth.size)
        new = order[:N_NEW]
        old = order[N_NEW:]
        # Of length one, as those of mails are.
        self.points = normalize(points[old])
        self.truth = truth[old]
        self.truth_of_new = truth[new]
        self.graph = gs.neighbor_edges(points[old], 10, random_state=0).to_edge_list()
        index = NearestNeighbors(n_neighbors=10, metric="cosine").fit(points[old])
        links = index.kneighbors_graph(points[new], mode="distance").tocsr()
        links.data = np.clip(1.0 - links.data, 0.0, 1.0)
        self.links = links

    def drawn_labels(self, n_labels, draw):
        rng = np.random.default_rng([SEED, n_labels, draw])
        while True:
            labeled = rng.choice(self.truth.size, n_labels, replace=False)
            if np.unique(self.truth[labeled]).size == 2:
                return labeled

    def fit(self, labeled):
        y = np.full(self.truth.size, -1)
        y[labeled] = self.truth[labeled]
        clf = gs.StableHFSClassifier(random_state=0).fit(self.graph, y)
        temperature = fit_temperature(clf.loo_scores_[:, 1], clf.loo_labels_ == 1)
        return clf, temperature, y < 0


def print_mixture(study, n_draws):
    models = {
        "logistic regression, C = 10": LogisticRegression(C=10.0, max_iter=1000),
        "logistic regression, C = 100": LogisticRegression(C=100.0, max_iter=1000),
        "linear SVC": LinearSVC(random_state=0),
        "multinomial naive Bayes": MultinomialNB(alpha=0.1),
        "complement naive Bayes": ComplementNB(alpha=0.1),
    }
    for n_labels in (20, 100, 400, 1000):
        figures = {}
        weights = []
        for draw in range(n_draws):
            labeled = np.sort(study.drawn_labels(n_labels, draw))
            is_spam = study.truth[labeled] == 1
            clf, _, is_left_out = study.fit(labeled)
            graph = clf.decision_function()
            linear_model, left_out = fit_linear(study.points[labeled], is_spam)
            linear = linear_model.scores(study.points)
            # Draws with a single label of a kind or of a component are skipped.
            if clf.loo_labels_.size == n_labels:
                loo = clf.loo_scores_[:, 1]
                scale = scale_to(left_out, loo)
                weight = mixture_weight(loo, scale * left_out, is_spam)
                weights.append(weight)
                answers = {
                    "mixture": (1 - weight) * graph + weight * scale * linear > 0,
                    "graph": graph > 0,
                    "linear model": linear > 0,
                }
                for name, model in models.items():
                    answers[name] = model.fit(study.points[labeled], is_spam).predict(study.points)
                for name, answer in answers.items():
                    is_right = answer == study.truth
                    figures.setdefault(name, []).append(is_right[is_left_out].mean())
        row = ", ".join(f"{name} {np.mean(rows):.3f}" for name, rows in figures.items())
        print(
            f"{n_labels:>5} labels, {len(weights)} draws: {row}; mean weight of the linear model "
            f"{np.mean(weights):.2f}",
            flush=True,
        )


def print_scores(study, n_draws):
    for n_labels in (10, 20, 40, 100, 400, 1000):
        figures = {}
        bins = np.zeros((10, 3))
        for draw in range(n_draws):
            clf, temperature, is_left_out = study.fit(study.drawn_labels(n_labels, draw))
            left_out = study.truth[is_left_out]
            after = probability_of_spam(clf.decision_function()[is_left_out], temperature)
            of_new = probability_of_spam(clf.decision_function(study.links), temperature)
            before = clf.label_distributions_[is_left_out, 1]
            before_of_new = clf.predict_proba(study.links)[:, 1]
            for kind, score, truth in (
                ("left out, before", before, left_out),
                ("left out, after", after, left_out),
                ("new, before", before_of_new, study.truth_of_new),
                ("new, after", of_new, study.truth_of_new),
            ):
                # As they are written to the table.
                figures.setdefault(kind, []).append(measures(score.round(6), truth))
            number = np.minimum((after * 10).astype(int), 9)
            for column, weight in enumerate((np.ones(after.size), after, left_out)):
                bins[:, column] += np.bincount(number, weight, 10)
        for kind, rows in figures.items():
            accuracy, flagged, caught, error, auc = np.mean(rows, axis=0)
            print(
                f"{n_labels:>5} labels, {kind:<16} accuracy {accuracy:.3f}, ham flagged "
                f"{flagged:.4f}, spam caught {caught:.3f}, calibration error {error:.3f}, "
                f"AUC {auc:.4f}",
                flush=True,
            )
        rows = [f"{p / n:.2f}: {t / n:.2f}" for n, p, t in bins if n]
        print(f"{n_labels:>5} labels, mean probability: fraction of spam  {', '.join(rows)}")


def measures(score, truth):
    """Accuracy, ham flagged, spam caught, expected calibration error, AUC."""
    flagged = score > 0.5
    number = np.minimum((score * 10).astype(int), 9)
    gaps = np.bincount(number, score - truth, 10)
    return (
        np.mean(flagged == truth),
        flagged[truth == 0].mean(),
        flagged[truth == 1].mean(),
        np.abs(gaps).sum() / score.size,
        roc_auc_score(truth, score),
    )


def print_thresholds(study, n_draws):
    for n_labels in (100, 400, 1000):
        figures = {}
        for draw in range(n_draws):
            clf, temperature, is_left_out = study.fit(study.drawn_labels(n_labels, draw))
            loo = probability_of_spam(clf.loo_scores_[:, 1], temperature)
            is_spam = clf.loo_labels_ == 1
            score = probability_of_spam(clf.decision_function()[is_left_out], temperature)
            of_new = probability_of_spam(clf.decision_function(study.links), temperature)
            truth = study.truth[is_left_out]
            for rate in RATES:
                chosen = choose_threshold(loo, is_spam, rate)
                flagged = score > chosen.value
                flagged_new = of_new > chosen.value
                figures.setdefault(rate, []).append(
                    (
                        chosen.is_supported,
                        *expected_rates(loo, is_spam, chosen.value).flagged_ham[2:],
                        flagged[truth == 0].mean(),
                        flagged_new[study.truth_of_new == 0].mean(),
                        flagged[truth == 1].mean(),
                        flagged_new[study.truth_of_new == 1].mean(),
                    )
                )
        for rate, rows in figures.items():
            enough, of_labeled, low, high, ham, new_ham, spam, new_spam = np.mean(rows, axis=0)
            print(
                f"{n_labels:>5} labels, at most {rate}: enough ham in {enough:.0%} of draws; ham "
                f"flagged {of_labeled:.4f} of labeled ({low:.4f} to {high:.4f}), {ham:.4f} of "
                f"left out, {new_ham:.4f} of new; spam caught {spam:.3f}, {new_spam:.3f} of new",
                flush=True,
            )


def print_labels(study, n_draws):
    for n_labels in (20, 40, 100):
        figures = {}
        for draw in range(n_draws):
            labeled = study.drawn_labels(n_labels, draw)
            clf, temperature, is_left_out = study.fit(labeled)
            score = probability_of_spam(clf.decision_function(), temperature)
            chosen = added_labels(study, score, is_left_out, n_labels, draw)
            is_asked = is_left_out.copy()
            for added in chosen.values():
                is_asked[added] = False
            for name, added in chosen.items():
                other, _, _ = study.fit(np.concatenate([labeled, added]).astype(int))
                is_right = other.transduction_ == study.truth
                of_new = other.predict(study.links) == study.truth_of_new
                figures.setdefault(name, []).append((is_right[is_asked].mean(), of_new.mean()))
        for name, rows in figures.items():
            left_out, new = np.mean(rows, axis=0)
            print(
                f"{n_labels:>5} labels, and as many {name:<15} accuracy {left_out:.3f}, "
                f"{new:.3f} of new",
                flush=True,
            )


def print_rates(study, n_draws):
    figures = {}
    for draw in range(n_draws):
        labeled = study.drawn_labels(100, draw)
        clf, temperature, is_left_out = study.fit(labeled)
        score = probability_of_spam(clf.decision_function(), temperature)
        for name, added in added_labels(study, score, is_left_out, 300, draw).items():
            other, scale, is_other = study.fit(np.concatenate([labeled, added]).astype(int))
            loo = probability_of_spam(other.loo_scores_[:, 1], scale)
            rates = expected_rates(loo, other.loo_labels_ == 1, 0.5)
            true = measures(
                probability_of_spam(other.decision_function()[is_other], scale),
                study.truth[is_other],
            )
            estimated = (rates.flagged_ham.fraction, rates.caught_spam.fraction)
            figures.setdefault(name, []).append((*estimated, *true[1:3]))
    for name, rows in figures.items():
        flagged, caught, true_flagged, true_caught = np.mean(rows, axis=0)
        print(
            f"  100 labels, and 300 {name:<15} ham flagged {flagged:.4f} estimated, "
            f"{true_flagged:.4f} true; spam caught {caught:.3f} estimated, {true_caught:.3f} true",
            flush=True,
        )


def added_labels(study, score, is_left_out, n_added, draw):
    """Return the mails that are labeled next, by order."""
    ends = np.concatenate([study.graph.tail, study.graph.head])
    n_neighbors = np.bincount(ends, minlength=score.size)
    ids = np.arange(score.size).astype(str)
    scored = ScoredMails(ids, score > 0.5, score, ~is_left_out, is_left_out, n_neighbors, {})
    listed = mails_to_label(scored, [], {}, random_state=draw)["node"]
    certainty = np.where(is_left_out & (n_neighbors > 0), np.abs(score - 0.5), np.inf)
    rng = np.random.default_rng([SEED, draw])
    return {
        "(none)": np.zeros(0, dtype=int),
        "at random": rng.choice(np.flatnonzero(is_left_out), n_added, replace=False),
        "most uncertain": np.argsort(certainty, kind="stable")[:n_added],
        "as listed": np.array(listed[:n_added]).astype(int),
    }


PARTS = {
    "mixture": print_mixture,
    "scores": print_scores,
    "thresholds": print_thresholds,
    "labels": print_labels,
    "rates": print_rates,
}

if __name__ == "__main__":
    main()
