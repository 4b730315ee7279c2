"""Generated mailboxes with the properties of real ones, to measure spam filters by.

Words have frequencies as in a text (Zipf's law) and twelve topics that are independent of spam. A
few words are more frequent in spam or in ham. Spam comes in campaigns: a recent spam mail with some
of its words replaced. Ham comes in threads: a new text and the quoted mail. With `drift`, the words
of both kinds change four times.
"""

import numpy as np

N_WORDS = 3_000
N_TOPICS = 12
N_RECENT = 60
PERIODS = 4


def mailbox(
    n_mails,
    seed,
    *,
    spam=0.4,
    campaigns=0.6,
    threads=0.5,
    n_informative=40,
    ratio=12.0,
    drift=False,
):
    """Return texts and which of them are spam.

    `campaigns` and `threads` are fractions of the spam and of the ham; `n_informative` words of
    each kind are `ratio` times more frequent in it.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(10, N_WORDS + 10)
    informative = rng.permutation(np.arange(50, N_WORDS))[: 2 * n_informative]
    tilt = np.ones((2, N_WORDS))
    tilt[0, informative[:n_informative]] = ratio
    tilt[1, informative[n_informative:]] = ratio
    topics = np.exp(rng.standard_normal((N_TOPICS, N_WORDS)))
    periods = np.ones((PERIODS, 2, N_WORDS))
    if drift:
        periods = np.exp(0.7 * rng.standard_normal(periods.shape))
    is_spam = rng.random(n_mails) < spam
    recent = ([], [])
    texts = []
    for mail in range(n_mails):
        kind = int(is_spam[mail])
        topic = topics[rng.integers(N_TOPICS)]
        weight = frequency * tilt[kind] * topic * periods[PERIODS * mail // n_mails, kind]
        weight /= weight.sum()
        n_words = max(5, int(rng.lognormal(np.log(60), 0.6)))
        numbers = rng.choice(N_WORDS, n_words, p=weight)
        earlier = recent[kind][-N_RECENT:]
        if earlier and rng.random() < (threads, campaigns)[kind]:
            source = earlier[rng.integers(len(earlier))]
            if kind:
                other = rng.choice(N_WORDS, source.size, p=weight)
                numbers = np.where(rng.random(source.size) < 0.3, other, source)
            else:
                numbers = np.concatenate([numbers[: n_words // 2], source])
        recent[kind].append(numbers)
        texts.append(" ".join(map(word, numbers)))
    return texts, is_spam


def word(number):
    """Return a word of letters only, since digits are set to 0, that stemming leaves alone."""
    digits = (number // 400, number // 20 % 20, number % 20)
    return "x" + "".join("abcdfhjklmnopqrtuvwy"[digit] for digit in digits) + "x"
