"""Texts to points: the words of a mail, counted and weighted by TF-IDF.

As in the thesis (Section 4.4.3): a stop list, simple stemming, and the 1 % most common and most
rare words dropped. A word's weight in a mail is tf * idf with idf = log((1 + n) / (1 + df)) + 1,
df the number of mails that hold it, and every mail is scaled to length one.

Stemming is the first step of Porter's algorithm: plurals, -ed and -ing, nothing deeper.

Stop words and punctuation say little of what a mail is about, and much of how it was written: with
punctuation=True they stay. On the shipped mails that is worth one to two points of accuracy.

References
----------
[P80] Porter. An algorithm for suffix stripping. Program 14(3), 1980.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError
from graphsqueak.mail.text import FOLD
from graphsqueak.validation import check_count, check_real

__all__ = ["WordWeights", "learn_words", "stem", "text_points", "weigh_words", "words"]

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_PUNCTUATION = re.compile(r"[^\W_]+|[^\w\s]+")
_VOWEL = re.compile(r"[aeiouy]")
_LONGEST = 25  # longer ones are addresses, keys and encoded data


def text_points(
    texts: Iterable[str],
    *,
    drop_common: float = 0.01,
    drop_rare: float = 0.01,
    min_mails: int = 1,
    sublinear: bool = False,
    stemming: bool = True,
    punctuation: bool = False,
) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """TF-IDF vectors of an iterable of texts, which is gone through once.

    Parameters
    ----------
    texts : iterable of str
        One for each point.
    drop_common, drop_rare : float
        Shares of the vocabulary to drop, counted from the words in most and in fewest mails; words
        in equally many go by the alphabet.
    min_mails : int
        Drop words in fewer mails than that.
    sublinear : bool
        1 + log(tf) instead of tf.
    stemming : bool
        Whether to stem.
    punctuation : bool
        Whether to count stop words, single letters and runs of punctuation as well.

    Returns
    -------
    points : scipy CSR array of float32, shape (n_texts, n_words)
    vocabulary : ndarray of str, the words

    Examples
    --------
    >>> points, vocabulary = text_points(["cheap pills", "pill boxes"], drop_common=0, drop_rare=0)
    >>> vocabulary.tolist(), points.toarray().round(2).tolist()
    (['boxe', 'cheap', 'pill'], [[0.0, 0.81, 0.58], [0.81, 0.0, 0.58]])
    """
    points, learned = learn_words(
        texts,
        drop_common=drop_common,
        drop_rare=drop_rare,
        min_mails=min_mails,
        sublinear=sublinear,
        stemming=stemming,
        punctuation=punctuation,
    )
    return points, np.array(learned.words, dtype=object)


class WordWeights(NamedTuple):
    """Words and their weights idf, learned from some texts, for texts that come later.

    `split` is whether texts are only split at spaces: headers are words already.
    """

    words: tuple[str, ...]
    idf: np.ndarray
    sublinear: bool
    stemming: bool
    punctuation: bool
    split: bool = False


def learn_words(
    texts,
    *,
    drop_common=0.0,
    drop_rare=0.0,
    min_mails=1,
    sublinear=False,
    stemming=True,
    punctuation=False,
    split=False,
):
    """The points of `text_points`, and the `WordWeights` by which others become points.

    >>> points, learned = learn_words(["cheap pills", "pill boxes"])
    >>> (weigh_words(["a cheap pill"], learned) != points[:1]).nnz
    0
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    check_real("drop_common", drop_common, least=0.0, below=1.0)
    check_real("drop_rare", drop_rare, least=0.0, below=1.0)
    check_count("min_mails", min_mails)
    counts, vocabulary = _count(_counter(stemming, punctuation, split), texts)
    kept = _frequent_enough(counts, drop_common, drop_rare, min_mails)
    points, idf = counts[:, kept], np.zeros(0)
    if kept.size:
        weigher = TfidfTransformer(sublinear_tf=sublinear)
        points, idf = weigher.fit_transform(points), weigher.idf_
    how = sublinear, stemming, punctuation, split
    learned = WordWeights(tuple(vocabulary[kept].tolist()), idf, *how)
    return points.astype(np.float32), learned


def header_points(
    headers: Iterable[str], *, min_mails: int = 1
) -> tuple[scipy.sparse.csr_array | None, WordWeights | None]:
    """Points of the headers of mails, which are words already, and the `WordWeights` of these.

    Points and weights are None where there is no word in so many mails.

    >>> points, learned = header_points(["has:to to:ann", "", "has:to"])
    >>> learned.words, points.toarray().round(2).tolist()
    (('has:to', 'to:ann'), [[0.61, 0.8], [0.0, 0.0], [1.0, 0.0]])
    """
    points, learned = learn_words(headers, min_mails=min_mails, sublinear=True, split=True)
    return (points, learned) if learned.words else (None, None)


def weigh_words(texts, learned):
    """Points of texts by words and weights that were learned from others; new words are ignored."""
    from sklearn.preprocessing import normalize

    counter = _counter(learned.stemming, learned.punctuation, learned.split, learned.words)
    points = counter.transform(texts).astype(np.float64)
    if learned.sublinear:
        points.data = 1.0 + np.log(points.data)
    points.data *= learned.idf[points.indices]
    return normalize(points).astype(np.float32)


def words(text, *, stemming=True, punctuation=False):
    """The words of a text that say something: lower case, digits folded to 0, no stop words.

    With `punctuation`, stop words, single letters and runs of punctuation are among them.

    >>> words("The 3 meetings of March 2002 were RESCHEDULED!!")
    ['meet', 'march', '0000', 'reschedul']
    >>> words("The 3 meetings of March 2002 were RESCHEDULED!!", punctuation=True)
    ['the', '0', 'meet', 'of', 'march', '0000', 'were', 'reschedul', '!!']
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    folded = text.lower().translate(FOLD)
    if punctuation:
        kept = (token for token in _WORD_OR_PUNCTUATION.findall(folded) if len(token) <= _LONGEST)
    else:
        found = _WORD.findall(folded)
        kept = (w for w in found if 1 < len(w) <= _LONGEST and w not in ENGLISH_STOP_WORDS)
    return [stem(token) for token in kept] if stemming else list(kept)


@lru_cache(maxsize=1 << 17)
def stem(word):
    """Step 1 of [P80], steps 1a and 1b: plurals, -ed, -ing.

    >>> [stem(word) for word in ("caresses", "ponies", "cats", "hopping", "plastered", "sing")]
    ['caress', 'poni', 'cat', 'hop', 'plaster', 'sing']
    """
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for suffix in ("ed", "ing"):
        body = word.removesuffix(suffix)
        if body != word and _VOWEL.search(body):
            return _repair(body)
    return word


def _repair(body):
    """Undo what -ed and -ing did to the end of a word: hopp -> hop, conflat -> conflate."""
    if body.endswith(("at", "bl", "iz")):
        return body + "e"
    if len(body) > 1 and body[-1] == body[-2] and body[-1] not in "aeioulsz":
        return body[:-1]
    return body


def _counter(stemming, punctuation, split, vocabulary=None):
    from sklearn.feature_extraction.text import CountVectorizer

    def analyzer(text):
        if split:
            return text.split()
        return words(text, stemming=stemming, punctuation=punctuation)

    return CountVectorizer(analyzer=analyzer, vocabulary=vocabulary)


def _count(counter, texts):
    """Counts and words; a corpus without a single word has no columns."""
    texts = _Counter(texts)
    try:
        counts = counter.fit_transform(texts)
    except InputError:  # of the reader behind the texts
        raise
    except ValueError:  # an empty vocabulary
        return scipy.sparse.csr_array((texts.n, 0)), np.zeros(0, dtype=str)
    return counts, counter.get_feature_names_out()


class _Counter:
    """An iterable that knows afterwards how many items it gave."""

    def __init__(self, items):
        self._items, self.n = items, 0

    def __iter__(self):
        for item in self._items:
            self.n += 1
            yield item


def _frequent_enough(counts, drop_common, drop_rare, min_mails):
    """Columns to keep, in their order."""
    n_mails = np.diff(counts.tocsc().indptr)
    order = np.argsort(n_mails, kind="stable")
    n_rare, n_common = (int(np.ceil(share * order.size)) for share in (drop_rare, drop_common))
    kept = np.sort(order[n_rare : max(order.size - n_common, n_rare)])
    return kept[n_mails[kept] >= min_mails]
