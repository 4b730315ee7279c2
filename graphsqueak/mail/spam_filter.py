"""A spam filter for a mailbox: a few mails are labeled, the others and new ones get a score.

All mails, labeled or not, become points (words and punctuation, TF-IDF) and are joined to the 10
nearest by the cosine, and by half of it to those that are near by their headers, if there are any
(see `two_views`); Stable-HFS on that graph labels the mails that have no label. Mail
that comes later is weighed by the words that are known and gets the mean score of its nearest, each
counted by its cosine (`predict_new`): nothing is fitted. It then joins the graph, for the time when
labels change.

Below some hundred labels the mails without a label say most: see docs/spam.md.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError
from graphsqueak.graph import EdgeList
from graphsqueak.mail.corpus import read_mail
from graphsqueak.mail.layouts import label_of_word
from graphsqueak.mail.two_views import (
    SECOND_VIEW_WEIGHT,
    SecondView,
    exceeds_last,
)
from graphsqueak.mail.words import header_points, learn_words, weigh_words
from graphsqueak.sources import neighbor_edges
from graphsqueak.ssl import StableHFSClassifier, UnreachedWarning
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack_state, unpack_state
from graphsqueak.system.remote import read_bytes
from graphsqueak.validation import check_count

__all__ = ["ScoredMails", "SpamFilter"]

_RECORD = {"format": "graphsqueak spam filter", "version": 2}
_FEWEST_FOR_RARE = 100  # mails from which on a word must be in three of them
_MAILDIR = re.compile(r"((?:.*/)?)(?:cur|new)/([^/]+?)(?::2,[^/]*)?")


class ScoredMails(NamedTuple):
    """The mails of one `SpamFilter.update`.

    Attributes
    ----------
    ids : ndarray of str, shape (n,)
    is_spam : ndarray of bool, shape (n,)
    score : ndarray of float, shape (n,)
        From 0 to 1; above a half is spam. It ranks mails, and is not a probability.
    is_labeled : ndarray of bool, shape (n,)
        By the user: the score is then 0 or 1.
    is_new : ndarray of bool, shape (n,)
        Read this time, and not known from before.
    counts : dict of str to int
        Of `read_mail`, for those that were read.
    """

    ids: np.ndarray
    is_spam: np.ndarray
    score: np.ndarray
    is_labeled: np.ndarray
    is_new: np.ndarray
    counts: dict


class SpamFilter:
    """Labels all mails of a mailbox from a few, and new mails as they come.

    Parameters
    ----------
    n_neighbors : int
        Neighbors that each mail is joined to.
    random_state : int or None
        Seeds the solver.

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
        self._views: list[_View] = []  # of the texts and, if there are any, of the headers
        self._nodes: dict[str, int] = {}  # by digest
        self._names: dict[str, int] = {}  # by id
        self._edges: tuple = ()  # tail, head and weight
        self._codes = np.zeros(0, dtype=np.int64)
        self._scores = np.zeros(0)
        self._is_spam = np.zeros(0, dtype=bool)
        self._model: StableHFSClassifier | None = None

    @property
    def n_mails(self) -> int:
        """Mails that are known, labeled or not."""
        return len(self._nodes)

    def update(
        self, path: str | Path, known: Mapping[str, object], *, layout: str = "auto"
    ) -> ScoredMails:
        """Read the mails that are new, and score all mails of `path`.

        Parameters
        ----------
        path : str or Path
            Mails in any layout of `read_mail`. The first ones teach the words and the graph.
        known : mapping of str to object
            Labels by id, in the words spam and ham (or 1 and 0; empty is none), for mails of this
            time or of an earlier one. If they differ from the last ones, the graph is labeled anew.
        layout : {"auto", "trec", "folders", "sms", "mbox", "maildir", "csv"}

        Returns
        -------
        ScoredMails
        """
        codes = {_name(str(name)): _code(name, label) for name, label in known.items()}
        source = read_mail(path, layout=layout)
        ids, digests, texts = [], [], {}
        for name, digest, mail in source.read_new(self._nodes):
            ids.append(name)
            digests.append(digest)
            if mail is not None:
                texts[digest] = mail.text, mail.headers
        if not ids:
            raise InputError(f"{path} holds no readable mail; {source.n_unreadable} cannot be read")
        n_before = self.n_mails
        names = {_name(name): digest for name, digest in zip(ids, digests, strict=True)}
        of_nodes = self._codes_of_nodes(codes, names, texts, path)
        self._append(texts, path)
        self._names |= {name: self._nodes[digest] for name, digest in names.items()}
        self._label(of_nodes)
        nodes = np.array([self._nodes[digest] for digest in digests])
        return ScoredMails(
            np.array(ids),
            self._is_spam[nodes],
            self._scores[nodes],
            self._codes[nodes] >= 0,
            nodes >= n_before,
            source.counts,
        )

    def save(self, path: str | Path) -> None:
        """Write all that was learned to a file, without pickle; it holds words, but no mail."""
        with atomic_file(path) as file:
            pack_state(file, _RECORD, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The filter of a file that `save` wrote."""
        record, found = unpack_state(read_bytes(path), path)
        if record != _RECORD or not isinstance(found, cls):
            raise InputError(
                f"{path} holds no spam filter, or one of another version; remove it to learn anew"
            )
        return found

    def _codes_of_nodes(self, codes, names, texts, path):
        """1, 0 or -1 for each node that is or will be; checked before anything changes."""
        nodes = self._nodes | {digest: self.n_mails + n for n, digest in enumerate(texts)}
        of_name = self._names | {name: nodes[digest] for name, digest in names.items()}
        found = np.full(len(nodes), -1)
        for name, code in codes.items():
            if code >= 0 and name in of_name:
                found[of_name[name]] = code
        said = set(codes.values()) - {-1}
        if said != {0, 1}:
            lacking = "no label" if not said else "no ham" if 1 in said else "no spam"
            raise InputError(f"the known labels name {lacking}; label some mails of both kinds")
        if not {0, 1} <= set(found.tolist()):
            raise InputError(
                f"too few of the {len(codes):,} labeled mails are in {path}: a mail there is "
                f"called {next(iter(names))!r}, a label is about {next(iter(codes))!r}"
            )
        return found

    def _append(self, texts, path):
        """New mails become nodes, joined to the nearest of all."""
        if not texts:
            return
        n_before, n_now = self.n_mails, self.n_mails + len(texts)
        sides = tuple(zip(*texts.values(), strict=True))
        if not self._views:
            self._views, joined = _learned(sides, self.n_neighbors, self.random_state)
            if not self._views:
                raise InputError(f"{path}: no word is left of {len(texts):,} mails")
        else:
            for view, side in zip(self._views, sides, strict=False):
                view.add(side)
            joined = [_edges_of(links) for links in self._links(n_before, n_now)]
        parts = [joined] if n_before == 0 else [[self._edges], joined]
        pairs = zip(*(edges for part in parts for edges in part), strict=True)
        self._edges = tuple(np.concatenate(pair) for pair in pairs)
        self._nodes |= {digest: n_before + n for n, digest in enumerate(texts)}

    def _links(self, first, n_among):
        """By each view, weights of the mails from `first` on with their nearest of the others."""
        return [view.nearest(first, n_among, self.n_neighbors) for view in self._views]

    def _label(self, codes):
        """Fit anew if labels changed; otherwise new nodes get the mean score of their nearest."""
        import warnings

        n_scored = self._scores.size
        is_same = self._model is not None and np.array_equal(codes[:n_scored], self._codes)
        if is_same and (codes[n_scored:] < 0).all():
            if codes.size > n_scored:
                links = sum(self._links(n_scored, self._model.n_nodes_))
                share, label = self._model.predict_proba(links)[:, 1], self._model.predict(links)
                self._scores = np.append(self._scores, share)
                self._is_spam = np.append(self._is_spam, label == 1)
        else:
            tail, head, weight = self._edges
            graph = EdgeList(tail=tail, head=head, weight=weight, n_nodes=codes.size)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreachedWarning)  # mails without a known word
                self._model = StableHFSClassifier(random_state=self.random_state).fit(graph, codes)
            self._scores = self._model.label_distributions_[:, 1].copy()
            self._is_spam = self._model.transduction_ == 1
            given = codes >= 0
            self._scores[given], self._is_spam[given] = codes[given], codes[given] == 1
        self._codes = codes


class _View:
    """The mails as points by one side of theirs, and who is near."""

    def __init__(self, points, words, share, last):
        self._words, self._share, self._last = words, share, last
        self._rows = points.data, points.indices, points.indptr

    def _points(self):
        shape = (len(self._rows[2]) - 1, len(self._words.words))
        return scipy.sparse.csr_array(self._rows, shape=shape)

    def add(self, texts):
        """Append the points of new mails."""
        new = weigh_words(texts, self._words)
        points = scipy.sparse.vstack([self._points(), new], format="csr")
        self._rows = points.data, points.indices, points.indptr

    def nearest(self, first, n_among, n_neighbors):
        """Weights (rows from `first` on, n_among); of headers only where each is near the other.

        So a link needs a cosine above that of the other's last neighbor, at the time it came.
        """
        points = self._points()
        is_among = n_among > first
        links = _nearest(points[first:], points[:n_among], n_neighbors, first if is_among else None)
        if self._last is not None:
            if self._last.size < n_among:
                self._last = np.append(self._last, _last_cosines(links, n_neighbors))
            links.data[~exceeds_last(links.data, self._last[links.indices])] = 0.0
            links.eliminate_zeros()
        links.data *= self._share
        return links


def _learned(sides, n_neighbors, random_state):
    """Views of the first mails, none without a word, and their edges."""
    texts, headers = sides
    fewest = 3 if len(texts) >= _FEWEST_FOR_RARE else 1
    k = min(n_neighbors, max(len(texts) - 1, 1))
    points, words = learn_words(texts, min_mails=fewest, sublinear=True, punctuation=True)
    if not words.words:
        return [], []
    graph = neighbor_edges(points, k, random_state=random_state).to_edge_list()
    views, joined = [_View(points, words, 1.0, None)], [(graph.tail, graph.head, graph.weight)]
    points, words = header_points(headers, min_mails=fewest)
    if words is not None:
        near = SecondView(points, n_neighbors)
        graph = near.to_edge_list()
        views.append(_View(points, words, SECOND_VIEW_WEIGHT, near.last_cosine))
        joined.append((graph.tail, graph.head, graph.weight))
    return views, joined


def _name(name):
    """Who a mail is, whatever a mail program did to its file.

    >>> [_name(n) for n in ("new/1.host", "cur/1.host:2,S", ".Junk/cur/7:2,", "box/3")]
    ['1.host', '1.host', '.Junk/7', 'box/3']
    """
    found = _MAILDIR.fullmatch(name)
    return found[1] + found[2] if found else name


def _code(name, label):
    code = -1 if label is None else label_of_word(str(label))
    if code is None:
        raise InputError(f"the label of {name!r} is {label!r}; say spam or ham (1 or 0)")
    return code


def _edges_of(links):
    """Tail, head and weight of links, whose rows are the last columns; each pair once."""
    links = links.tocoo()
    tail, head = links.row + links.shape[1] - links.shape[0], links.col
    pairs = np.column_stack([np.minimum(tail, head), np.maximum(tail, head)])
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    return pairs[:, 0], pairs[:, 1], links.data[first]


def _nearest(points, among, n_neighbors, first=None):
    """Cosines of every point with its nearest; `first` is the row of the first point, if among."""
    from sklearn.neighbors import NearestNeighbors

    n_asked = min(n_neighbors + (first is not None), among.shape[0])
    index = NearestNeighbors(n_neighbors=n_asked, metric="cosine").fit(among)
    distance, column = index.kneighbors(points)
    row = np.repeat(np.arange(points.shape[0]), n_asked)
    column, weight = column.ravel(), np.clip(1.0 - distance.ravel(), 0.0, 1.0).astype(np.float64)
    kept = weight > 0
    if first is not None:
        kept &= column != row + first
    shape = (points.shape[0], among.shape[0])
    return scipy.sparse.coo_array((weight[kept], (row[kept], column[kept])), shape=shape).tocsr()


def _last_cosines(links, n_neighbors):
    """The smallest weight of each row, 0 where it has fewer than so many."""
    counts = np.diff(links.indptr)
    last = np.zeros(links.shape[0])
    full = np.flatnonzero(counts >= n_neighbors)
    last[full] = [links.data[links.indptr[r] : links.indptr[r + 1]].min() for r in full]
    return last
