"""Spam filter for a mailbox in which a few mails are labeled.

    1. points   every mail, labeled or not, becomes a TF-IDF vector of its words and punctuation
    2. graph    each mail is joined to its n_neighbors nearest by cosine, and with half the weight
                to mails with similar headers, if there are headers (see `two_views`)
    3. labels   Stable-HFS propagates the known labels on that graph [C17, Section 4.4.3]
    4. scores   become probabilities by one temperature, fitted to labeled mails that are scored
                without their own label (see `calibration`)

Mail that arrives later is weighted with the words of step 1 and gets the mean of its nearest
neighbors before step 4, weighted by cosine, without a new fit. It becomes a node of the graph,
which is labeled again when the known labels change.

With less than a few hundred labels, most of the information is in the mails without a label: see
docs/research/spam.md, which also has the accuracy compared with other filters.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph import EdgeList
from graphsqueak.mail.calibration import (
    DEFAULT_TEMPERATURE,
    ExpectedRates,
    Threshold,
    choose_threshold,
    expected_rates,
    fit_temperature,
    probability_of_spam,
)
from graphsqueak.mail.corpus import read_mail
from graphsqueak.mail.layouts import label_of_word, stable_name
from graphsqueak.mail.two_views import SECOND_VIEW_WEIGHT, SecondView, exceeds_last
from graphsqueak.mail.words import header_points, learn_words, weigh_words
from graphsqueak.sources import neighbor_edges
from graphsqueak.ssl import StableHFSClassifier, UnreachedWarning
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack_state, unpack_state
from graphsqueak.system.remote import exists, read_bytes
from graphsqueak.validation import check_count

_RECORD = {"format": "graphsqueak spam filter", "version": 4}


class ScoredMails(NamedTuple):
    """Labels and scores of the mails of one `SpamFilter.update`.

    Attributes
    ----------
    ids : ndarray of str, shape (n,)
    is_spam : ndarray of bool, shape (n,)
        Whether the score is above 0.5.
    score : ndarray of float, shape (n,)
        Probability of spam, calibrated on 8 labels or more. It is 0.5 if the mail shares no word
        with mails from which a label could be inferred.
    is_labeled : ndarray of bool, shape (n,)
        Whether the user gave the label; the score is then 0 or 1.
    is_new : ndarray of bool, shape (n,)
        Whether the mail was read in this update.
    n_neighbors : ndarray of int, shape (n,)
        Number of mails to which each is joined in the graph.
    counts : dict of str to int
        Numbers of mails that were read, and of those that could not be, by reason: those of
        `MailSource`.
    """

    ids: np.ndarray
    is_spam: np.ndarray
    score: np.ndarray
    is_labeled: np.ndarray
    is_new: np.ndarray
    n_neighbors: np.ndarray
    counts: dict

    def flagged(self, threshold: float) -> np.ndarray:
        """Return which mails are spam by their label or, without one, by a score above `threshold`.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        # The score of a labeled mail is 0 or 1, and no threshold may overrule the user.
        return np.where(self.is_labeled, self.score > 0.5, self.score > threshold)


class SpamFilter:
    """Spam filter that learns from few labels and from the mails without a label.

    Use it for a mailbox in which 20 to some hundred mails are labeled spam or ham. With 1,000
    labels, logistic regression of the points of `load_mail` is as accurate (docs/research/spam.md).

    Parameters
    ----------
    n_neighbors : int
        Number of nearest neighbors to which each mail is joined.
    random_state : int or None
        Seed of the solver.

    Attributes
    ----------
    classifier_ : StableHFSClassifier or None
        Fitted on the mails that were known when labels changed last.
    temperature_ : float
        Scores of the classifier are divided by it to give the logarithm of the odds of spam.

    Examples
    --------
    >>> mails = ["lunch at noon", "cheap pills now", "noon: lunch?", "pills, cheap"]
    >>> written = Path("box.csv").write_text("\\n".join(["text", *(f'"{m}"' for m in mails)]))
    >>> spam = SpamFilter(random_state=7)
    >>> spam.update("box.csv", {"2": "ham", "3": "spam"}).is_spam
    array([False,  True, False,  True])
    >>> written = Path("new.csv").write_text("id,text\\nx,buy cheap pills\\n")
    >>> spam.update("new.csv", {"2": "ham", "3": "spam"}).is_spam
    array([ True])
    """

    def __init__(self, *, n_neighbors: int = 10, random_state: int | None = 0) -> None:
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self.random_state = random_state
        self.classifier_: StableHFSClassifier | None = None
        self.temperature_ = DEFAULT_TEMPERATURE
        # The texts and, if there are any, the headers.
        self._views: list[_View] = []
        self._node_of_digest: dict[str, int] = {}
        self._node_of_name: dict[str, int] = {}
        # Tail, head and weight.
        self._edges: tuple = ()
        # Per node: known label (1, 0 or -1), and probability of spam.
        self._known = np.zeros(0, dtype=np.int64)
        self._score = np.zeros(0)

    @property
    def n_mails(self) -> int:
        """Number of mails in the graph, labeled or not."""
        return len(self._node_of_digest)

    def update(
        self, path: str | Path, known: Mapping[str, object], *, layout: str = "auto"
    ) -> ScoredMails:
        """Read the new mails in `path`, and score all mails in it.

        Parameters
        ----------
        path : str or Path
            Mails in any layout of `read_mail`. The words and their weights are those of the first
            update.
        known : mapping of str to object
            Labels by id: spam or ham (or 1 and 0; an empty label is ignored), for mails of this or
            an earlier update. If they differ from those of the last update, the graph is labeled
            again.
        layout : {"auto", "trec", "folders", "sms", "mbox", "maildir", "csv"}

        Returns
        -------
        ScoredMails
        """
        labels = {stable_name(str(name)): _label_code(name, label) for name, label in known.items()}
        source = read_mail(path, layout=layout)
        ids = []
        digests = []
        new_mails = {}
        for mail_id, digest, mail in source.read_new(self._node_of_digest):
            ids.append(mail_id)
            digests.append(digest)
            if mail is not None:
                new_mails[digest] = mail
        if not ids:
            raise InputError(
                f"{path} has no readable mail; {source.counts['unreadable']} could not be read"
            )
        n_before = self.n_mails
        added = {digest: n_before + number for number, digest in enumerate(new_mails)}
        node_of_digest = self._node_of_digest | added
        nodes = np.array([node_of_digest[digest] for digest in digests])
        names = map(stable_name, ids)
        node_of_name = self._node_of_name | dict(zip(names, nodes.tolist(), strict=True))
        # Errors of the input are raised before anything changes.
        node_labels = _labels_of_nodes(
            labels, node_of_name, len(node_of_digest), path=path, example=stable_name(ids[0])
        )
        if new_mails:
            self._add_nodes(list(new_mails.values()), path)
        self._node_of_digest = node_of_digest
        self._node_of_name = node_of_name
        self._score_nodes(node_labels)
        ends = np.concatenate(self._edges[:2])
        return ScoredMails(
            ids=np.array(ids),
            is_spam=self._score[nodes] > 0.5,
            score=self._score[nodes],
            is_labeled=self._known[nodes] >= 0,
            is_new=nodes >= n_before,
            n_neighbors=np.bincount(ends, minlength=self.n_mails)[nodes],
            counts=source.counts,
        )

    @property
    def is_calibrated(self) -> bool:
        """Whether there were enough labels to fit the temperature: 8 that can be left out."""
        return self.left_out_scores()[0].size > 0

    def left_out_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of labeled mails without their own label, and which of them are spam.

        Returns
        -------
        score : ndarray of float, shape (k,)
            Empty with fewer than 8 labels.
        is_spam : ndarray of bool, shape (k,)
        """
        if self.classifier_ is None:
            return np.zeros(0), np.zeros(0, dtype=bool)
        scores = self.classifier_.loo_scores_[:, 1]
        return probability_of_spam(scores, self.temperature_), self.classifier_.loo_labels_ == 1

    def choose_threshold(self, max_false_positives: float) -> Threshold:
        """Return the threshold that flags at most a fraction of the ham.

        Parameters
        ----------
        max_false_positives : float
            It is expected of further ham that is like the labeled ham.

        Returns
        -------
        Threshold
        """
        return choose_threshold(*self.left_out_scores(), max_false_positives)

    def expected_rates(self, threshold: float = 0.5) -> ExpectedRates:
        """Return what fraction of spam is caught, and of ham flagged, by scores above `threshold`.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        ExpectedRates
        """
        return expected_rates(*self.left_out_scores(), threshold)

    def save(self, path: str | Path) -> None:
        """Write the filter to a file, without pickle. It contains words, but no mails."""
        with atomic_file(path) as file:
            pack_state(file, _RECORD, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the filter in a file written by `save`."""
        record, found = unpack_state(read_bytes(path), path)
        if record != _RECORD or not isinstance(found, cls):
            raise InputError(
                f"{path} is not a spam filter of this version; remove the file to learn again"
            )
        return found

    @classmethod
    def load_or_new(cls, path: str | Path, *, random_state: int | None = 0) -> Self:
        """Return the filter in a file if it exists, or else a new one.

        Parameters
        ----------
        path : str or Path
        random_state : int or None
            A file that was made with another seed is refused.

        Returns
        -------
        SpamFilter

        Examples
        --------
        >>> SpamFilter.load_or_new("missing.model").n_mails
        0
        """
        if not exists(path):
            return cls(random_state=random_state)
        found = cls.load(path)
        if found.random_state != random_state:
            raise InputError(
                f"{path} was made with ",
                Parameter("random_state", found.random_state),
                "; give the same, or remove the file to learn again",
            )
        return found

    def _add_nodes(self, mails, path):
        """Join new mails to their nearest neighbors among all mails."""
        texts = [mail.text for mail in mails]
        headers = [mail.headers for mail in mails]
        if self._views:
            sides = zip(self._views, (texts, headers), strict=False)
            links = [view.add(side, self.n_neighbors) for view, side in sides]
            parts = [self._edges, *map(_edges_of_new, links)]
        else:
            self._views, parts = _learn_views(texts, headers, self.n_neighbors, self.random_state)
        if not self._views:
            raise InputError(f"{path}: no word is left of {len(mails):,} mails")
        self._edges = tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _score_nodes(self, known):
        """Fit again if known labels changed; otherwise score the new nodes only."""
        n_scored = self._score.size
        is_unchanged = np.array_equal(known[:n_scored], self._known)
        if self.classifier_ is None or not is_unchanged or (known[n_scored:] >= 0).any():
            self._fit(known)
        elif known.size > n_scored:
            # Their neighbors among the mails that the classifier was fitted on.
            n_fitted = self.classifier_.n_nodes_
            links = sum(view.links(n_scored, n_fitted, self.n_neighbors) for view in self._views)
            score = self.classifier_.decision_function(links)
            probability = probability_of_spam(score, self.temperature_)
            self._score = np.append(self._score, probability)
        self._known = known

    def _fit(self, known):
        tail, head, weight = self._edges
        graph = EdgeList(tail=tail, head=head, weight=weight, n_nodes=known.size)
        self.classifier_ = StableHFSClassifier(random_state=self.random_state)
        with warnings.catch_warnings():
            # A mail without a known word has no neighbors.
            warnings.simplefilter("ignore", UnreachedWarning)
            self.classifier_.fit(graph, known)
        self.temperature_ = fit_temperature(
            self.classifier_.loo_scores_[:, 1], self.classifier_.loo_labels_ == 1
        )
        score = probability_of_spam(self.classifier_.decision_function(), self.temperature_)
        self._score = np.where(known >= 0, known, score)


class _View:
    """Points of the mails in one view (texts or headers), and their nearest neighbors.

    Parameters
    ----------
    words : WordWeights
    points : scipy CSR array
    weight : float
        Factor of the cosines.
    last_cosine : ndarray, optional
        Cosine of each mail with its last neighbor. A link then needs a larger cosine than that of
        the candidate at the time it was added: the rule of `SecondView`.
    """

    def __init__(self, words, points, weight=1.0, last_cosine=None):
        self._words = words
        self._weight = weight
        self._last_cosine = last_cosine
        self._set_points(points)

    def _set_points(self, points):
        # As arrays, which `pack_state` can write.
        self._csr = (points.data, points.indices, points.indptr)

    def _points(self):
        shape = (len(self._csr[2]) - 1, len(self._words.words))
        return scipy.sparse.csr_array(self._csr, shape=shape)

    def add(self, texts, n_neighbors):
        """Append the points of new mails, and return their links to all mails."""
        points = self._points()
        first = points.shape[0]
        new = weigh_words(texts, self._words)
        points = scipy.sparse.vstack([points, new], format="csr")
        self._set_points(points)
        cosines = _nearest(new, points, n_neighbors, first=first)
        if self._last_cosine is not None:
            self._last_cosine = np.append(self._last_cosine, _last_cosines(cosines, n_neighbors))
        return self._weighted(cosines)

    def links(self, first, n_candidates, n_neighbors):
        """Return links of the mails from `first` on to the first `n_candidates`."""
        points = self._points()
        return self._weighted(_nearest(points[first:], points[:n_candidates], n_neighbors))

    def _weighted(self, cosines):
        if self._last_cosine is not None:
            is_near = exceeds_last(cosines.data, self._last_cosine[cosines.indices])
            cosines.data[~is_near] = 0.0
            cosines.eliminate_zeros()
        cosines.data *= self._weight
        return cosines


def _learn_views(texts, headers, n_neighbors, random_state):
    """Return the views of the first mails, and their edges; both are empty without a word."""
    # Words in one or two mails take most of the memory and join few mails. In a small mailbox most
    # words are of this kind. Neither number was measured.
    min_mails = 3 if len(texts) >= 100 else 1
    points, words = learn_words(texts, min_mails=min_mails, sublinear=True, punctuation=True)
    if not words.words:
        return [], []
    n_others = max(len(texts) - 1, 1)
    nearest = neighbor_edges(points, min(n_neighbors, n_others), random_state=random_state)
    views = [_View(words, points)]
    graphs = [nearest.to_edge_list()]
    points, words = header_points(headers, min_mails=min_mails)
    if words is not None:
        by_headers = SecondView(points, n_neighbors)
        views.append(_View(words, points, SECOND_VIEW_WEIGHT, by_headers.last_cosine))
        graphs.append(by_headers.to_edge_list())
    return views, [(graph.tail, graph.head, graph.weight) for graph in graphs]


def _labels_of_nodes(labels, node_of_name, n_nodes, *, path, example):
    """Return 1 (spam), 0 (ham) or -1 (unknown) for each node; `example` is the name of a mail."""
    kinds = set(labels.values()) - {-1}
    if kinds != {0, 1}:
        missing = "label"
        if kinds:
            missing = "ham" if 1 in kinds else "spam"
        raise InputError(f"the known labels have no {missing}; label some mails of both kinds")
    found = np.full(n_nodes, -1)
    for name, code in labels.items():
        if code >= 0 and name in node_of_name:
            found[node_of_name[name]] = code
    if not {0, 1} <= set(found.tolist()):
        raise InputError(
            f"too few of the {len(labels):,} labeled mails are in {path}: a mail there is "
            f"called {example!r}, a label is about {next(iter(labels))!r}"
        )
    return found


def _label_code(name, label):
    code = -1 if label is None else label_of_word(str(label))
    if code is None:
        raise InputError(f"the label of {name!r} is {label!r}; say spam or ham (1 or 0)")
    return code


def _edges_of_new(links):
    """Return tail, head and weight of links whose rows are the last columns, each pair once."""
    links = links.tocoo()
    tail = links.row + links.shape[1] - links.shape[0]
    pairs = np.sort(np.column_stack([tail, links.col]), axis=1)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    return pairs[:, 0], pairs[:, 1], links.data[first]


def _nearest(points, candidates, n_neighbors, first=None):
    """Return the positive cosines of each point with its nearest candidates, as a CSR array.

    With `first`, the points are the candidates in the rows `first`, `first` + 1, ...
    """
    from sklearn.neighbors import NearestNeighbors

    n_found = min(n_neighbors + (first is not None), candidates.shape[0])
    index = NearestNeighbors(n_neighbors=n_found, metric="cosine").fit(candidates)
    distance, column = index.kneighbors(points)
    row = np.repeat(np.arange(points.shape[0]), n_found)
    column = column.ravel()
    cosine = np.clip(1.0 - distance.ravel(), 0.0, 1.0).astype(np.float64)
    is_link = cosine > 0
    if first is not None:
        is_link &= column != row + first
    entries = (cosine[is_link], (row[is_link], column[is_link]))
    shape = (points.shape[0], candidates.shape[0])
    return scipy.sparse.coo_array(entries, shape=shape).tocsr()


def _last_cosines(cosines, n_neighbors):
    """Return the smallest cosine of each row, 0 if it has fewer than `n_neighbors`."""
    rows = np.split(cosines.data, cosines.indptr[1:-1])
    return np.array([row.min() if row.size >= n_neighbors else 0.0 for row in rows])
