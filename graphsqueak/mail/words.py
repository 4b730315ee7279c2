"""TF-IDF vectors of texts: the words of a mail, counted and weighted.

As in the thesis [C17, Section 4.4.3]: stop words are removed, words are stemmed, and the 1 % most
common and the 1 % rarest words are dropped. The weight of a word in a mail is

    tf * idf,    idf = log((1 + n) / (1 + df)) + 1

where tf is its count in the mail and df the number of the n mails that contain it. Each vector is
scaled to length one. Stemming is the first step of Porter's algorithm [P80]: plurals, -ed and -ing.

With `punctuation=True`, stop words and punctuation are counted too: they carry information about
the style of a mail. On the shipped mails this adds one to two points of accuracy.

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
from graphsqueak.mail.text import DIGITS_TO_0
from graphsqueak.validation import check_count, check_real

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_PUNCTUATION = re.compile(r"[^\W_]+|[^\w\s]+")
_VOWEL = re.compile(r"[aeiouy]")

# Letters per word. Longer ones are addresses, keys and encoded data, most of them in one mail only,
# and words of a single mail join no others. The effect on accuracy was not measured.
_MAX_WORD_LENGTH = 25


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
    """Return TF-IDF vectors of texts, which are iterated over once.

    Parameters
    ----------
    texts : iterable of str
        One per point.
    drop_common, drop_rare : float
        Fractions of the vocabulary to drop: the words in most, and in fewest, mails. Ties are
        broken alphabetically.
    min_mails : int
        Drop words that occur in fewer mails.
    sublinear : bool
        Use 1 + log(tf) instead of tf.
    stemming : bool
        Stem the words.
    punctuation : bool
        Also count stop words, single letters and runs of punctuation.

    Returns
    -------
    points : scipy CSR array of float32, shape (n_texts, n_words)
    vocabulary : ndarray of str, shape (n_words,)

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
    """Words and idf weights learned from some texts, to weigh the words of later texts.

    Attributes
    ----------
    words : tuple of str
    idf : ndarray of shape (n_words,)
    sublinear, stemming, punctuation : bool
        As in `text_points`.
    is_split : bool
        Words are separated by spaces, as in `Mail.headers`.
    """

    words: tuple[str, ...]
    idf: np.ndarray
    sublinear: bool
    stemming: bool
    punctuation: bool
    is_split: bool


def learn_words(
    texts,
    *,
    drop_common=0.0,
    drop_rare=0.0,
    min_mails=1,
    sublinear=False,
    stemming=True,
    punctuation=False,
    is_split=False,
):
    """Return the vectors of `text_points` and the `WordWeights` for later texts.

    >>> points, learned = learn_words(["cheap pills", "pill boxes"])
    >>> (weigh_words(["a cheap pill"], learned) != points[:1]).nnz
    0
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    check_real("drop_common", drop_common, least=0.0, below=1.0)
    check_real("drop_rare", drop_rare, least=0.0, below=1.0)
    check_count("min_mails", min_mails)
    counts, vocabulary = _count_words(texts, _counter(stemming, punctuation, is_split))
    is_kept = _frequent_words(counts, drop_common, drop_rare, min_mails)
    points = counts[:, is_kept]
    idf = np.zeros(0)
    # scikit-learn refuses arrays without columns.
    if points.shape[1]:
        transformer = TfidfTransformer(sublinear_tf=sublinear)
        points = transformer.fit_transform(points)
        idf = transformer.idf_
    kept_words = tuple(vocabulary[is_kept].tolist())
    learned = WordWeights(kept_words, idf, sublinear, stemming, punctuation, is_split)
    return points.astype(np.float32), learned


def header_points(
    headers: Iterable[str], *, min_mails: int = 1
) -> tuple[scipy.sparse.csr_array | None, WordWeights | None]:
    """Return TF-IDF vectors of `Mail.headers` and their `WordWeights`; None if no word is left.

    Parameters
    ----------
    headers : iterable of str
        Words separated by spaces.
    min_mails : int
        Drop words that occur in fewer mails.

    Examples
    --------
    >>> points, learned = header_points(["has:to to:ann", "", "has:to"])
    >>> learned.words, points.toarray().round(2).tolist()
    (('has:to', 'to:ann'), [[0.61, 0.8], [0.0, 0.0], [1.0, 0.0]])
    """
    points, learned = learn_words(headers, min_mails=min_mails, sublinear=True, is_split=True)
    return (points, learned) if learned.words else (None, None)


def weigh_words(texts, learned):
    """Return vectors of texts with words and weights learned from others; new words are ignored."""
    from sklearn.preprocessing import normalize

    counter = _counter(learned.stemming, learned.punctuation, learned.is_split, learned.words)
    points = counter.transform(texts).astype(np.float64)
    if learned.sublinear:
        points.data = 1.0 + np.log(points.data)
    points.data *= learned.idf[points.indices]
    return normalize(points).astype(np.float32)


def words(text, *, stemming=True, punctuation=False):
    """Return the words of a text in lower case, with digits set to 0, without stop words.

    With `punctuation`, stop words, single letters and runs of punctuation are kept.

    >>> words("The 3 meetings of March 2002 were RESCHEDULED!!")
    ['meet', 'march', '0000', 'reschedul']
    >>> words("The 3 meetings of March 2002 were RESCHEDULED!!", punctuation=True)
    ['the', '0', 'meet', 'of', 'march', '0000', 'were', 'reschedul', '!!']
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    folded = text.lower().translate(DIGITS_TO_0)
    pattern = _WORD_OR_PUNCTUATION if punctuation else _WORD
    tokens = [token for token in pattern.findall(folded) if len(token) <= _MAX_WORD_LENGTH]
    if not punctuation:
        tokens = [token for token in tokens if len(token) > 1 and token not in ENGLISH_STOP_WORDS]
    return list(map(stem, tokens)) if stemming else tokens


@lru_cache(maxsize=1 << 17)
def stem(word):
    """Apply steps 1a and 1b of [P80]: plurals, -ed, -ing.

    >>> [stem(word) for word in ("caresses", "ponies", "cats", "hopping", "plastered", "sing")]
    ['caress', 'poni', 'cat', 'hop', 'plaster', 'sing']
    """
    # 1a
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    # 1b
    for suffix in ("ed", "ing"):
        body = word.removesuffix(suffix)
        if body != word and _VOWEL.search(body):
            return _restore_ending(body)
    return word


def _restore_ending(body):
    """Undo the change of a word's end before -ed and -ing: hopp -> hop, conflat -> conflate."""
    if body.endswith(("at", "bl", "iz")):
        return body + "e"
    if len(body) > 1 and body[-1] == body[-2] and body[-1] not in "aeioulsz":
        return body[:-1]
    return body


def _counter(stemming, punctuation, is_split, vocabulary=None):
    from sklearn.feature_extraction.text import CountVectorizer

    def analyzer(text):
        if is_split:
            return text.split()
        return words(text, stemming=stemming, punctuation=punctuation)

    return CountVectorizer(analyzer=analyzer, vocabulary=vocabulary)


def _count_words(texts, counter):
    """Return counts, shape (n_texts, n_words), and the words in alphabetical order."""
    n_texts = 0

    def counted():
        nonlocal n_texts
        for text in texts:
            n_texts += 1
            yield text

    try:
        counts = counter.fit_transform(counted())
    except InputError:
        # Of the reader of the texts; it is a ValueError as well.
        raise
    except ValueError:
        # scikit-learn refuses texts without a single word.
        return scipy.sparse.csr_array((n_texts, 0)), np.zeros(0, dtype=str)
    return counts, counter.get_feature_names_out()


def _frequent_words(counts, drop_common, drop_rare, min_mails):
    """Return which words to keep."""
    n_mails = np.diff(counts.tocsc().indptr)
    n_words = n_mails.size
    n_rare = int(np.ceil(drop_rare * n_words))
    n_common = int(np.ceil(drop_common * n_words))
    rank = np.empty(n_words, dtype=np.int64)
    rank[np.argsort(n_mails, kind="stable")] = np.arange(n_words)
    return (rank >= n_rare) & (rank < n_words - n_common) & (n_mails >= min_mails)
