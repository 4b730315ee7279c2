"""Data sets for examples: shipped with the package, read from corpora on disk, or generated.

Origin, license and checksum of each shipped file are in `datasets/README.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources import read_edges
from graphsqueak.validation import check_count, check_real

__all__ = [
    "Points",
    "load_karate",
    "load_mail",
    "load_spam",
    "load_spambase",
    "shipped_file",
    "stacked_clusters",
]


@dataclass(frozen=True, repr=False)
class Points:
    """Points with a label and an id each.

    Attributes
    ----------
    points : ndarray or scipy CSR array, shape (n, d)
    labels : ndarray of int, shape (n,)
        For mail, 1 is spam, 0 is ham and -1 is unknown.
    ids : ndarray of str or int, shape (n,)
    description : str
    columns : ndarray of str, shape (d,), or None
    counts : mapping of str to int
        Numbers of mails that were read, and of those that could not be, by reason.
    notes : mapping of str to ndarray of str
        Subject and sender of mails read from disk.
    headers : scipy CSR array or None
        The headers of mails as vectors, if `headers=True` and there are any.
    """

    # Any, since scipy's sparse arrays have no type that checkers know.
    points: Any
    labels: np.ndarray
    ids: np.ndarray
    description: str
    columns: np.ndarray | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, np.ndarray] = field(default_factory=dict)
    headers: Any = None

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Points(n={n}, d={d}, {self.description!r})"


def load_karate() -> EdgeList:
    """Load Zachary's karate club: 34 members, 78 ties, weighted by how often two members met.

    The ids of the members are 1, ..., 34, in this order.

    >>> load_karate()
    EdgeList(n_nodes=34, n_edges=78, total_weight=231)
    """
    edges = read_edges(shipped_file("karate.tsv")).to_edge_list()
    members, number = np.unique(edges.ids, return_inverse=True)
    return EdgeList(
        tail=number[edges.tail], head=number[edges.head], weight=edges.weight, ids=members
    )


def load_spam() -> Points:
    """Load the SpamAssassin public corpus without duplicates: 5,876 mails as TF-IDF vectors.

    The columns are the stemmed words, and the punctuation, of subjects and bodies that occur in at
    least three mails. Entries are (1 + log tf) idf, and rows have length one, except for one mail
    without such words. The words themselves are not shipped.

    >>> load_spam()
    Points(n=5876, d=17024, 'SpamAssassin public corpus, TF-IDF')
    """
    from scipy.sparse import load_npz

    path = shipped_file("spam.npz")
    points = load_npz(path)
    with np.load(path, allow_pickle=False) as file:
        labels = file["labels"].astype(np.int64)
        ids = file["ids"]
    return Points(points, labels, ids, "SpamAssassin public corpus, TF-IDF")


def load_spambase() -> Points:
    """Load Spambase: 57 statistics of the words and letters of 4,601 mails at HP Labs, 1999.

    The columns have very different scales: take logarithms, or standardize them, before computing
    distances.

    >>> spambase = load_spambase()
    >>> spambase, int(spambase.labels.sum())
    (Points(n=4601, d=57, 'Spambase, Hewlett-Packard Labs'), 1813)
    """
    with np.load(shipped_file("spambase.npz"), allow_pickle=False) as file:
        labels = file["labels"].astype(np.int64)
        return Points(
            file["points"],
            labels,
            ids=np.arange(labels.size),
            description="Spambase, Hewlett-Packard Labs",
            columns=file["columns"],
        )


def load_mail(
    path: str | Path,
    *,
    layout: str = "auto",
    deduplicate: bool = False,
    drop_common: float = 0.01,
    drop_rare: float = 0.01,
    min_mails: int = 1,
    sublinear: bool = False,
    stemming: bool = True,
    punctuation: bool = False,
    headers: bool = False,
) -> Points:
    """Read a corpus of mail from disk as TF-IDF vectors.

    Parameters
    ----------
    path : str or Path
        Mails: a folder of .eml files, mbox, Maildir, one csv of texts; or a corpus: TREC 2007,
        SpamAssassin, Enron-Spam, the SMS Spam Collection.
    layout : {"auto", "trec", "folders", "sms", "mbox", "maildir", "csv"}
        Layout of the files; "auto" detects it.
    deduplicate : bool
        Drop mails with the same words, in the same order, as an earlier one.
    drop_common, drop_rare : float
        Fractions of the vocabulary to drop: the words in most, and in fewest, mails.
    min_mails : int
        Drop words that occur in fewer mails.
    sublinear : bool
        Use 1 + log(tf) instead of tf.
    stemming : bool
        Stem the words.
    punctuation : bool
        Also count stop words, single letters and runs of punctuation.
    headers : bool
        Also make vectors of the headers: the servers and programs that a mail passed.

    Returns
    -------
    Points
        `counts` has the numbers of mails that were unreadable, empty, truncated or duplicates.

    Notes
    -----
    The defaults are those of the thesis. More accurate on the corpora that were measured:
    drop_common=0, drop_rare=0, min_mails=3, sublinear=True, punctuation=True.

    Examples
    --------
    >>> written = Path("texts.csv").write_text("label,text\\nspam,cheap pills\\nham,see you\\n")
    >>> mails = load_mail("texts.csv", drop_common=0, drop_rare=0)
    >>> mails.labels, mails.points.shape, mails.counts["unreadable"]
    (array([1, 0]), (2, 2), 0)
    """
    from graphsqueak.mail import header_points, read_mail, text_points

    source = read_mail(path, layout=layout, deduplicate=deduplicate)
    # Texts are streamed, the rest of each mail is kept.
    read: list[tuple] = []
    header_texts: list[str] = []

    def texts():
        for mail in source:
            read.append((mail.id, mail.label, mail.subject, mail.sender))
            if headers:
                header_texts.append(mail.headers)
            yield mail.text

    points, vocabulary = text_points(
        texts(),
        drop_common=drop_common,
        drop_rare=drop_rare,
        min_mails=min_mails,
        sublinear=sublinear,
        stemming=stemming,
        punctuation=punctuation,
    )
    if not read:
        raise InputError(
            f"{path} has no readable mail; {source.counts['unreadable']} could not be read"
        )
    if not vocabulary.size:
        raise InputError(
            f"{path}: no word of {len(read):,} mails is left; drop fewer, with ",
            Parameter("drop_common", 0),
            " and ",
            Parameter("drop_rare", 0),
        )
    ids, labels, subjects, senders = zip(*read, strict=True)
    return Points(
        points,
        labels=np.array(labels, dtype=np.int64),
        ids=np.array(ids),
        description=f"mail in {path}",
        columns=vocabulary,
        counts=source.counts,
        notes={"subject": np.array(subjects), "sender": np.array(senders)},
        headers=header_points(header_texts, min_mails=min_mails)[0] if any(header_texts) else None,
    )


def stacked_clusters(
    n_points: int = 12_100,
    *,
    gap: float = 2.5,
    width: float = 2.0,
    random_state: RandomState = None,
) -> Points:
    """Generate the synthetic data of the thesis (Figure 4.1): four stacked clusters in the plane.

    Each cluster is uniform on a rectangle. The two upper ones are class 1, the two lower ones class
    0; `ids` number the points, lowest cluster first. The thesis labels two points of the lowest and
    two of the uppermost cluster, and joins points by unit edges. It shows the clusters without
    their sizes. With the defaults, as in the thesis, clusters are disconnected until a point has
    more neighbors than its cluster has points (3,025).

    Parameters
    ----------
    n_points : int
        Number of points in all four clusters.
    gap : float
        Distance from the top of a cluster to the bottom of the next.
    width : float
        Width of a cluster, whose height is 1.
    random_state : int, Generator or None

    Returns
    -------
    Points

    Examples
    --------
    >>> clusters = stacked_clusters(12, random_state=5)
    >>> clusters.labels
    array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    """
    check_count("n_points", n_points, least=4)
    check_real("gap", gap, least=0.0)
    check_real("width", width, above=0.0)
    rng = np.random.default_rng(random_state)
    cluster = np.arange(n_points) * 4 // n_points
    x = width * rng.random(n_points)
    y = cluster * (1.0 + gap) + rng.random(n_points)
    return Points(
        np.column_stack([x, y]),
        labels=(cluster >= 2).astype(np.int64),
        ids=np.arange(n_points),
        description="four stacked clusters",
    )


def shipped_file(name: str) -> Path:
    """Return the path of a shipped file, in the installed package or next to it in a checkout.

    >>> shipped_file("karate.tsv").name
    'karate.tsv'
    """
    package = Path(__file__).parent
    for folder in (package / "_data", package.parent / "datasets"):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"no shipped file is called {name!r}; see datasets/README.md for their names")
