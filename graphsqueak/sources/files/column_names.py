"""Infer from the name of a column what it holds: ends of edges, weights, distances, times, ...

The lists are the names that edge files and tables of public collections use (SNAP, KONECT, Gephi,
neo4j, pandas, R) and common words for entities and measurements.
"""

import re


def _words(text):
    return set(text.split())


def _pairs(text):
    return [tuple(pair.split("-")) for pair in text.split()]


# Names of source and target, without spaces and underscores.
_NAMES_OF_ENDS = _pairs(
    """source-target source-destination source-dest src-dst src-dest from-to fromnodeid-tonodeid
    fromnode-tonode sourceid-targetid srcid-dstid sourcenode-targetnode u-v i-j node1-node2 id1-id2
    tail-head start-end row-col row-column"""
)
# Words in which the names of source and target differ: from_station and to_station.
_COUNTERPARTS = _pairs(
    """from-to source-target source-destination source-dest src-dst src-dest start-end
    origin-destination orig-dest sender-receiver sender-recipient payer-payee buyer-seller
    caller-callee follower-followee"""
)
# The same, if the names are known to be a header: user1 and user2 can also be nodes.
_NUMBERED_COUNTERPARTS = _pairs("1-2 a-b")
_WEIGHTS = _words("weight weights w value similarity strength affinity conductance")
_ROW_NUMBERS = _words("id index idx row rowid no nr number line key uuid edge edgeid") | {
    *("row id", "edge id", "unnamed 0", ""),
}
_DISTANCES = _words("distance dist cost length time duration rank")
_QUANTITIES = _DISTANCES | _words(
    """weight weights w value amount price count total sum quantity qty rating score strength
    similarity affinity conductance frequency freq hits percent share probability confidence sign
    km miles minutes seconds hours"""
)
_TIMES = _words("date datetime timestamp ts time since epoch")

_ACTORS = _words(
    """user customer client buyer member person people author actor artist reader reviewer
    voter visitor viewer player student teacher employee director writer editor patient donor
    investor account subscriber sender playerid researcher scientist inventor politician"""
)
_THINGS = _words(
    """item product movie film book song track album article paper publication patent page
    website url domain tag keyword term word group team club community event venue conference
    journal project repo repository package company organization organisation institution
    city country place restaurant hotel business shop store course class subreddit topic category
    genre gene protein disease drug symptom document doc post thread question answer comment order
    transaction session query ad advertisement game show episode recipe ingredient"""
)
_ROLE_WORDS = _words(
    """source target src dst from to head tail node edge vertex id name label weight w
    value parent child follower followee friend sender receiver recipient caller callee citing cited
    origin destination start end first second left right row col column"""
)
_ENTITIES = _ACTORS | _THINGS
_KNOWN_WORDS = _ENTITIES | _ROLE_WORDS


def find_ends(names):
    """Return the positions of source and target; None if the names do not show them.

    >>> find_ends(["From Node Id", "ToNodeId"]), find_ends(["ann", "bob"])
    ((0, 1), None)
    """
    plain = ["".join(filter(str.isalnum, name.lower())) for name in names]
    for source, target in _NAMES_OF_ENDS:
        if plain.count(source) == plain.count(target) == 1:
            return plain.index(source), plain.index(target)
    return find_counterparts(names)


def are_known_names(names):
    """Whether all of `names`, two or more, are common names of columns.

    >>> are_known_names(["user_id", "movieId"]), are_known_names(["ann", "bob"])
    (True, False)
    """
    words = [_stem(name) for name in names if name.strip()]
    return len(words) >= 2 and len(set(words)) > 1 and all(word in _KNOWN_WORDS for word in words)


def name_two_entities(names):
    """Whether two columns are named after different kinds of entities, such as user and item.

    >>> name_two_entities(["user_id", "item_id"]), name_two_entities(["user", "users"])
    (True, False)
    """
    words = {_stem(name) for name in names}
    return len(words) == 2 and words <= _ENTITIES


def name_words(name):
    """Return the words of a column name, in lower case.

    >>> name_words("avgCost"), name_words("distance_km"), name_words("GPSTime2")
    (['avg', 'cost'], ['distance', 'km'], ['gps', 'time', '2'])
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+", name)
    return [part.lower() for part in parts]


def is_distance_name(name):
    """Whether a column of this name probably holds distances: the smaller, the closer.

    >>> [is_distance_name(name) for name in ("distance_km", "travelTime", "RANK", "costs")]
    [True, True, True, True]
    >>> [is_distance_name(name) for name in ("distinct", "lengthy", "costume", "timestamp")]
    [False, False, False, False]
    """
    words = {word.removesuffix("s") for word in name_words(name)}
    return not _DISTANCES.isdisjoint(words)


def is_time_name(name):
    """Whether a column of this name probably holds times.

    >>> is_time_name("event_date"), is_time_name("updated")
    (True, False)
    """
    return not _TIMES.isdisjoint(name_words(name))


def is_weight_name(name):
    """Whether a column of this name holds weights, the larger the closer."""
    return name.strip().lower() in _WEIGHTS


def is_quantity_name(name):
    """Whether a column of this name probably holds measurements, not nodes."""
    return not _QUANTITIES.isdisjoint(name_words(name))


def excludes_ends(name):
    """Whether a column of this name is a row number, a quantity or a time, not an end of edges."""
    words = name_words(name)
    return " ".join(words) in _ROW_NUMBERS or not (_QUANTITIES | _TIMES).isdisjoint(words)


def is_index_name(name, column):
    """Whether this is what pandas and R call a column of row numbers."""
    return name == "__index_level_0__" or (column == 0 and name.strip() in ("", "Unnamed: 0"))


def find_counterparts(names, *, among=None, is_header=False):
    """Return the two columns whose names differ in one pair of words; None if not exactly two do.

    Parameters
    ----------
    names : list of str
        Names of all columns.
    among : list of int, optional
        Columns to compare. Default: all.
    is_header : bool
        Whether `names` are known to be a header. Names of nodes can be such a pair as well if they
        end in 1 and 2, or in a and b, or are single words.

    Examples
    --------
    >>> find_counterparts(["line", "from_station", "to_station"])
    (1, 2)
    >>> find_counterparts(["user1", "user2"]), find_counterparts(["user1", "user2"], is_header=True)
    (None, (0, 1))
    >>> find_counterparts(["tx", "sender", "receiver"], is_header=True)
    (1, 2)
    """
    words = [name_words(name) for name in names]
    known = _COUNTERPARTS + _NUMBERED_COUNTERPARTS if is_header else _COUNTERPARTS
    columns = range(len(names)) if among is None else among
    pairs = [
        (source, target)
        for source in columns
        for target in columns
        if _differing_words(words[source], words[target]) in known
        and (is_header or len(words[source]) > 1)
    ]
    return pairs[0] if len(pairs) == 1 else None


def _differing_words(source, target):
    """Return the pair of words in which two names differ; None if they differ in more."""
    if len(source) != len(target):
        return None
    different = [pair for pair in zip(source, target, strict=True) if pair[0] != pair[1]]
    return different[0] if len(different) == 1 else None


def _stem(name):
    """Return the common form of user_id, UserID, users and user."""
    plain = "".join(filter(str.isalpha, name.lower()))
    for ending in ("ids", "id"):
        if plain.endswith(ending) and len(plain) > len(ending) + 1:
            plain = plain.removesuffix(ending)
            break
    return plain if plain in _KNOWN_WORDS else plain.removesuffix("s")
