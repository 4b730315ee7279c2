"""Data sets for examples: shipped with the package, read from corpora on disk, or generated.

Origin, license and checksum of each shipped file are in `datasets/README.md`. `EXAMPLES` are the
files that the documentation uses; `write_example` writes them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources import neighbor_edges, read_edges, write_columns, write_edges
from graphsqueak.system.atomic import check_outputs, written_together
from graphsqueak.system.paths import local_path
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = [
    "EXAMPLES",
    "Example",
    "Points",
    "load_karate",
    "load_mail",
    "load_spam",
    "load_spambase",
    "shipped_file",
    "social_graph",
    "stacked_clusters",
    "write_example",
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


def social_graph(n_people: int = 4_000, *, random_state: RandomState = 20) -> EdgeList:
    """Generate friendships in 25 groups that a few friendships connect.

    Group sizes are proportional to k^-0.7, and degrees within a group have a heavy tail: every
    person draws friends in proportion to their activity. Each group except the first is
    joined to earlier groups by one to four friendships. These are few among tens of thousands, but
    without them the graph falls apart.

    Parameters
    ----------
    n_people : int
        Number of nodes, at least 100.
    random_state : int, Generator or None
        Seed. With the default, all calls return the same graph.

    Returns
    -------
    EdgeList
        Nodes are ordered by group; all weights are 1.

    Examples
    --------
    >>> social_graph()
    EdgeList(n_nodes=4000, n_edges=61421, total_weight=61421)
    """
    check_count("n_people", n_people, least=100)
    rng = np.random.default_rng(random_state)
    n_groups = 25
    size = np.arange(1, n_groups + 1) ** -0.7
    # The first nodes are one per group, so that no group is empty.
    group = np.append(
        np.arange(n_groups), rng.choice(n_groups, size=n_people - n_groups, p=size / size.sum())
    )
    group.sort()
    activity = np.minimum(0.25 + rng.pareto(1.8, size=n_people), 12.0)
    tails = []
    heads = []
    for number in range(n_groups):
        members = np.flatnonzero(group == number)
        probability = activity[members] / activity[members].sum()
        n_drawn = 24 * members.size
        tails.append(rng.choice(members, size=n_drawn, p=probability))
        heads.append(rng.choice(members, size=n_drawn, p=probability))
        if number:
            n_bridges = rng.integers(1, 5)
            tails.append(rng.choice(members, size=n_bridges))
            heads.append(rng.choice(members[0], size=n_bridges))
    tail = np.concatenate(tails)
    head = np.concatenate(heads)
    # Friendships that were drawn twice, in either direction, are one.
    pair = np.unique(np.minimum(tail, head) * n_people + np.maximum(tail, head))
    pair = pair[pair // n_people != pair % n_people]
    return EdgeList(tail=pair // n_people, head=pair % n_people, n_nodes=n_people)


@dataclass(frozen=True)
class Example:
    """Files of an example.

    Attributes
    ----------
    summary : str
        What the data are.
    files : mapping of str to str
        Description of each file by name.
    command : str
        A command to begin with.
    write : callable
        `write(folder)` writes the files.
    """

    summary: str
    files: Mapping[str, str]
    command: str
    write: Callable[[Path], None] = field(repr=False)


def write_example(name: str, folder: str | Path = ".", *, force: bool = False) -> list[Path]:
    """Write the files of an example, which are the same in every call.

    Parameters
    ----------
    name : {"events", "karate", "logins", "mail", "social", "spam"}
        Key of `EXAMPLES`, which describes the files.
    folder : str or Path
        Folder for the files; it is created if it does not exist.
    force : bool
        Overwrite existing files.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> write_example("karate")
    [PosixPath('karate.tsv')]
    >>> len(Path("karate.tsv").read_text().splitlines())
    79
    """
    check_choice("name", name, tuple(EXAMPLES))
    target = local_path(folder)
    paths = [target / file for file in EXAMPLES[name].files]
    if target.exists() and not target.is_dir():
        raise InputError(f"{folder} is a file; give a folder")
    for path in paths:
        if path.is_file() and not force:
            raise InputError(
                f"{path} already exists; use ", Parameter("force", True), " to overwrite"
            )
    target.mkdir(parents=True, exist_ok=True)
    check_outputs({path.name: path for path in paths}, [])
    with written_together():
        EXAMPLES[name].write(target)
    return paths


def _write_karate(folder):
    write_edges(load_karate(), folder / "karate.tsv")


def _write_social(folder):
    write_edges(social_graph(), folder / "edges.tsv")


def _write_events(folder):
    """Write 40,000 contacts, one every 30 s, within teams that are new after the first half."""
    rng = np.random.default_rng(42)
    n_people = 240
    n_events = 40_000
    n_teams = 4
    source = rng.integers(n_people, size=n_events)
    is_second_half = np.arange(n_events) >= n_events // 2
    # In each half, the people of a team are contiguous in one random order. A shift of 1, ..., 59
    # modulo the size of a team is another member, and one of 1, ..., 239 is any other person.
    target = np.empty(n_events, dtype=np.int64)
    for rows in (~is_second_half, is_second_half):
        order = rng.permutation(n_people)
        place = np.argsort(order)[source[rows]]
        team_size = n_people // n_teams
        team, rank = np.divmod(place, team_size)
        member = team * team_size + (rank + rng.integers(1, team_size, size=rank.size)) % team_size
        anyone = (place + rng.integers(1, n_people, size=rank.size)) % n_people
        target[rows] = order[np.where(rng.random(rank.size) < 0.9, member, anyone)]
    names = np.array([f"p{number:03d}" for number in range(n_people)])
    columns = {
        "source": names[source],
        "target": names[target],
        # Unix seconds, from November 14, 2023.
        "ts": 1_700_000_000 + 30 * np.arange(n_events),
    }
    write_columns(columns, folder / "events.csv")


def _write_logins(folder):
    """Write 18,000 logins of 3,000 accounts, 120 of them in four fraud rings that share devices."""
    rng = np.random.default_rng(41)
    n_accounts = 3_000
    n_rings = 4
    ring_size = 30
    ring = np.full(n_accounts, -1)
    members = rng.permutation(n_accounts)[: n_rings * ring_size]
    ring[members] = np.arange(members.size) // ring_size
    is_fraud = ring >= 0

    # Honest accounts use two devices of their own, one of their household, and public networks.
    account = np.repeat(np.arange(n_accounts), 6)
    own_device = 10_000 + 2 * account + rng.integers(2, size=account.size)
    household_device = 20_000 + account // 2
    public_network = 30_000 + rng.integers(5, size=account.size)
    ring_device = 40_000 + 8 * ring[account] + rng.integers(8, size=account.size)
    kind = rng.random(account.size)
    device = np.where(kind < 0.4, own_device, household_device)
    device = np.where(kind < 0.6, device, public_network)
    device = np.where(is_fraud[account] & (kind < 0.5), ring_device, device)

    # Numbers of devices in random order, so that they do not reveal what the devices are.
    devices, device = np.unique(device, return_inverse=True)
    device = rng.permutation(devices.size)[device]
    order = rng.permutation(account.size)
    account_names = np.array([f"a{number:04d}" for number in range(n_accounts)])
    device_names = np.array([f"d{number:04d}" for number in range(devices.size)])
    logins = {"account": account_names[account[order]], "device": device_names[device[order]]}
    write_columns(logins, folder / "logins.csv")

    is_known = np.zeros(n_accounts, dtype=bool)
    for number in range(n_rings):
        is_known[rng.choice(np.flatnonzero(ring == number), size=3, replace=False)] = True
    is_known[rng.choice(np.flatnonzero(~is_fraud), size=48, replace=False)] = True
    truth = np.where(is_fraud, "fraud", "fine")
    label = np.where(is_known, truth, None)
    write_columns({"node": account_names, "label": label, "truth": truth}, folder / "known.csv")


def _write_spam(folder):
    """Write the mails joined to their ten nearest each, and the label of every 59th."""
    spam = load_spam()
    write_edges(neighbor_edges(spam.points, 10, ids=spam.ids), folder / "mails.parquet")
    truth = np.where(spam.labels == 1, "spam", "ham")
    is_known = np.arange(spam.ids.size) % 59 == 0
    label = np.where(is_known, truth, None)
    write_columns({"node": spam.ids, "label": label, "truth": truth}, folder / "labels.csv")


# Words of the generated mails: of topics of ham and spam, and of any mail.
HAM_TOPICS = (
    "meeting agenda minutes room monday notes project budget slides schedule review deadline",
    "patch branch commit test build release bug compiler server merge version code",
    "dinner weekend birthday kids photos train holiday recipe concert garden mother cinema",
)
SPAM_TOPICS = (
    "cheap pills pharmacy prescription discount order viagra delivery doctor quality shop buy",
    "winner prize lottery claim million dollars transfer bank account confidential urgent reward",
    "credit loan mortgage refinance approved rates cash income home opportunity guaranteed offer",
)
COMMON_WORDS = (
    "please today time new send need good work week call see thanks hello now best first one "
    "people help better question reply free message read day know make list information"
)


def _write_mail(folder):
    """Write 400 generated mails, 20 later ones, and the labels of 80."""
    rng = np.random.default_rng(43)
    n_mails = 420
    n_known = 80
    is_spam = rng.random(n_mails) < 0.4
    ids = np.array([f"m{number:03d}" for number in range(n_mails)])
    texts = [_generate_text(rng, SPAM_TOPICS if spam else HAM_TOPICS) for spam in is_spam]
    n_shops = 9
    senders = [
        f"offer@shop{rng.integers(n_shops)}.example"
        if spam
        else f"colleague{number % 12}@x.example"
        for number, spam in enumerate(is_spam)
    ]
    mails = {
        "id": ids,
        "subject": [" ".join(text.split()[:3]) for text in texts],
        "sender": senders,
        "text": texts,
    }
    n_first = 400
    write_columns({name: column[:n_first] for name, column in mails.items()}, folder / "mails.csv")
    write_columns({name: column[n_first:] for name, column in mails.items()}, folder / "later.csv")
    truth = np.where(is_spam, "spam", "ham")
    is_known = np.isin(np.arange(n_mails), rng.choice(n_first, size=n_known, replace=False))
    known = {"node": ids, "label": np.where(is_known, truth, None), "truth": truth}
    write_columns(known, folder / "known.csv")


def _generate_text(rng, topics):
    """Return 12 to 30 words; in one of eight mails few of them are of a topic."""
    topic_words = topics[rng.integers(len(topics))].split()
    common_words = COMMON_WORDS.split()
    topic_fraction = 0.1 if rng.random() < 1 / 8 else 0.5
    words = [
        rng.choice(topic_words if rng.random() < topic_fraction else common_words)
        for _ in range(rng.integers(12, 31))
    ]
    return " ".join(words)


EXAMPLES: Mapping[str, Example] = {
    "events": Example(
        "contacts of 240 people in two weeks, whose teams change after the first",
        {"events.csv": "40,000 contacts: source, target, ts (Unix seconds)"},
        "graphsqueak sparsify events.csv -o week.tsv --keep 0.1 --time ts --window 7d",
        _write_events,
    ),
    "karate": Example(
        "Zachary's karate club",
        {"karate.tsv": "78 ties of 34 members: source, target, weight"},
        "graphsqueak info karate.tsv",
        _write_karate,
    ),
    "logins": Example(
        "logins of 3,000 accounts, 120 of them in four fraud rings (generated)",
        {
            "logins.csv": "18,000 logins: account, device",
            "known.csv": "60 known accounts: node, label; truth of all, for comparison",
        },
        "graphsqueak label logins.csv known.csv --project -o review.csv --positive-class fraud "
        "--top 100",
        _write_logins,
    ),
    "mail": Example(
        "mails of two weeks, and those of the next day (generated)",
        {
            "mails.csv": "400 mails: id, subject, sender, text",
            "later.csv": "20 mails: id, subject, sender, text",
            "known.csv": "80 known mails: node, label; truth of all, for comparison",
        },
        "graphsqueak spam mails.csv --labels known.csv -o scores.csv",
        _write_mail,
    ),
    "social": Example(
        "friendships in 25 groups that a few friendships connect (generated)",
        {"edges.tsv": "61,421 friendships of 4,000 people: source, target"},
        "graphsqueak sparsify edges.tsv -o sparse.tsv --keep 0.2",
        _write_social,
    ),
    "spam": Example(
        "5,876 mails of the SpamAssassin corpus, each joined to its ten most similar",
        {
            "mails.parquet": "similarities of mails: source, target, weight",
            "labels.csv": "100 known mails: node, label; truth of all, for comparison",
        },
        "graphsqueak label mails.parquet labels.csv -o labeled.csv",
        _write_spam,
    ),
}
