"""The spam filter as a library: what new mails get, and when the graph is labeled anew."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from graphsqueak import InputError, SpamFilter
from graphsqueak.mail import Mail, ScoredMails, mails_to_label, probability_of_spam
from graphsqueak.mail.words import learn_words, weigh_words

SHARED = [f"common{letter}" for letter in "abcdefghijklmno"]
TOPICS = {kind: [f"{kind}{letter}" for letter in "abcdefghijkl"] for kind in ("spam", "ham")}


def texts(n, seed):
    """Alternately ham and spam: ten words of the topic and ten of all."""
    rng = np.random.default_rng(seed)
    kinds = ["ham", "spam"] * (n // 2)
    both = SHARED + TOPICS["spam"] + TOPICS["ham"]
    return kinds, [" ".join([*rng.choice(TOPICS[k], 10), *rng.choice(both, 10)]) for k in kinds]


def write_table(path, words, first=0):
    ids = [f"m{first + i}" for i in range(len(words))]
    pl.DataFrame({"id": ids, "text": words}).write_csv(path)
    return path


def write_mails(folder, n, seed, *, headers):
    """Mails that share no word; `headers` gives the lines of ham and of spam."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    for i in range(n):
        hosts = " ".join(rng.choice(headers[i % 2], 4))
        text = "".join(rng.choice(list("bcdfghjklm"), 12))
        (folder / f"{seed}-{i:03d}.eml").write_text(f"Received: {hosts}\n\n{text}\n")
    return folder


@pytest.fixture
def kinds_and_box(tmp_path):
    kinds, words = texts(60, 90_215)
    return kinds, write_table(tmp_path / "box.csv", words)


def test_four_labels_do_for_sixty_mails(kinds_and_box):
    kinds, box = kinds_and_box
    known = {f"m{i}": kinds[i] for i in range(4)}
    found = SpamFilter().update(box, known)
    assert found.is_labeled.sum() == 4
    assert found.is_new.all()
    assert (found.is_spam == (np.array(kinds) == "spam")).all()
    assert ((found.score > 0.5) == found.is_spam).all()


def test_a_new_mail_gets_the_mean_score_of_its_nearest(kinds_and_box, tmp_path):
    _, box = kinds_and_box
    spam = SpamFilter(n_neighbors=5)
    spam.update(box, {"m0": "ham", "m1": "spam"})
    scores = spam.classifier_.scores_[:, 1]
    _, new = texts(6, 5_561)
    found = spam.update(write_table(tmp_path / "new.csv", new, 60), {"m0": "ham", "m1": "spam"})
    assert spam.classifier_.n_nodes_ == 60  # nothing was fitted
    assert found.is_new.all()
    points, learned = learn_words(pl.read_csv(box)["text"], sublinear=True, punctuation=True)
    cosine = cosine_similarity(weigh_words(new, learned), points)
    for row, score in zip(cosine, found.score, strict=True):
        near = np.argsort(-row)[:5]
        mean = np.average(scores[near], weights=row[near])
        expected = probability_of_spam(mean, spam.temperature_)
        assert score == pytest.approx(expected, abs=1e-6)
        unweighted = probability_of_spam(scores[near].mean(), spam.temperature_)
        assert score != pytest.approx(unweighted, abs=1e-6)


def test_new_labels_count_at_once_and_no_mail_is_read_again(kinds_and_box, tmp_path):
    kinds, box = kinds_and_box
    spam = SpamFilter()
    first = spam.update(box, {f"m{i}": kinds[i] for i in range(4)})
    swapped = {"ham": "spam", "spam": "ham"}
    second = spam.update(box, {f"m{i}": swapped[kinds[i]] for i in range(4)})
    assert second.counts["mails"] == 0
    assert (second.is_spam == ~first.is_spam).all()
    _, new = texts(4, 77_003)
    table = write_table(tmp_path / "new.csv", new, 60)
    known = {"m0": "ham", "m1": "spam"}
    spam.update(table, known)
    told = spam.update(table, {**known, "m60": "spam"})  # a label of a mail that came later
    assert told.is_labeled.tolist() == [True, False, False, False]
    assert told.score[0] == 1.0


def test_a_filter_goes_on_where_it_was_saved(kinds_and_box, tmp_path):
    kinds, box = kinds_and_box
    known = {f"m{i}": kinds[i] for i in range(6)}
    spam = SpamFilter()
    spam.update(box, known)
    spam.save(tmp_path / "spam.model")
    new = write_table(tmp_path / "new.csv", texts(8, 31_416)[1], 60)
    again = SpamFilter.load(tmp_path / "spam.model").update(new, known)
    assert again.score.tolist() == spam.update(new, known).score.tolist()


def test_headers_tell_what_texts_do_not(tmp_path):
    """A coin is right for 84 % of 80 mails, six deviations above a half."""
    hosts = [[f"{kind}{letter}.example" for letter in "abcdef"] for kind in ("ham", "spam")]
    known = {f"11-{i:03d}.eml": ["ham", "spam"][i % 2] for i in range(10)}
    spam = SpamFilter(random_state=7)
    truth = np.arange(90) % 2 == 1
    first = spam.update(write_mails(tmp_path / "box", 90, 11, headers=hosts), known)
    assert (first.is_spam == truth)[10:].mean() > 0.84
    spam.save(tmp_path / "spam.model")
    spam = SpamFilter.load(tmp_path / "spam.model")
    later = spam.update(write_mails(tmp_path / "new", 80, 12, headers=hosts), known)
    assert spam.classifier_.n_nodes_ == 90  # nothing was fitted
    assert (later.is_spam == truth[:80]).mean() > 0.84
    again = spam.update(tmp_path / "new", known | {"12-000.eml": "ham"})  # of all 170
    assert (again.is_spam == truth[:80])[1:].mean() > 0.84


def test_headers_that_all_mails_share_change_nothing(tmp_path):
    """Nor do they make the first mails everybody's neighbor."""
    kinds, words = texts(60, 4_409)
    found = []
    for name, line in (("bare", "Subject: x"), ("same", "Subject: x\nTo: us")):
        (tmp_path / name).mkdir()
        for i, text in enumerate(words):
            (tmp_path / name / f"m{i}.eml").write_text(f"{line}\n\n{text}\n")
        known = {f"m{i}.eml": kinds[i] for i in range(6)}
        found.append(SpamFilter(random_state=7).update(tmp_path / name, known).score)
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_texts_weigh_the_same_as_those_that_taught_the_words():
    words = ["WIN!! money money", "lunch at noon", "money for lunch"]
    for options in ({"sublinear": True, "punctuation": True}, {"stemming": False}):
        points, learned = learn_words(words, **options)
        assert abs(weigh_words(words, learned) - points).max() < 1e-6
        assert weigh_words(["unheard"], learned).nnz == 0


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"m0": "ham"}, "no spam"),
        ({"m0": "1", "m1": "spam"}, "no ham"),
        ({"m0": "", "m1": None}, "no label"),
        ({"m0": "ham", "m1": "work"}, "'m1' is 'work'; say spam or ham"),
        ({"x": "ham", "y": "spam"}, "called 'm0', a label is about 'x'"),
    ],
)
def test_labels_that_cannot_be_used_change_nothing(kinds_and_box, known, said):
    _, box = kinds_and_box
    spam = SpamFilter()
    with pytest.raises(InputError, match=said):
        spam.update(box, known)
    assert spam.n_mails == 0
    assert spam.update(box, {"m0": "ham", "m1": "spam"}).is_new.all()


def test_scores_are_calibrated_by_labels_that_are_left_out(kinds_and_box, tmp_path):
    kinds, box = kinds_and_box
    few = SpamFilter()
    few.update(box, {f"m{i}": kinds[i] for i in range(4)})
    assert not few.is_calibrated
    assert few.choose_threshold(0.1).n_ham == 0
    spam = SpamFilter()
    before = spam.update(box, {f"m{i}": kinds[i] for i in range(20)})
    score, is_spam = spam.left_out_scores()
    assert spam.is_calibrated
    assert is_spam.sum() == 10
    # None of the 20 is mistaken, and their targets are 11/12 and 1/12.
    assert ((score > 0.5) == is_spam).all()
    assert np.abs(score - is_spam).mean() == pytest.approx(1 / 12, abs=0.05)
    raw = spam.classifier_.scores_[:, 1]
    unlabeled = ~before.is_labeled
    assert (np.argsort(raw[unlabeled]) == np.argsort(before.score[unlabeled])).all()
    spam.save(tmp_path / "spam.model")
    again = SpamFilter.load(tmp_path / "spam.model")
    assert again.temperature_ == spam.temperature_
    assert again.expected_rates(0.6) == spam.expected_rates(0.6)


def test_a_threshold_never_overrules_a_label(kinds_and_box):
    kinds, box = kinds_and_box
    scored = SpamFilter().update(box, {f"m{i}": kinds[i] for i in range(8)})
    assert scored.flagged(1.0).sum() == 4
    assert scored.flagged(0.0).sum() == 56
    assert (scored.flagged(0.5) == scored.is_spam).all()


def test_a_mail_that_nothing_is_known_about_is_not_flagged(tmp_path):
    """Although most labels are spam."""
    written = ["cheap pills", "pills cheap", "cheap, pills", "lunch noon", "noon lunch", "zebra"]
    box = write_table(tmp_path / "box.csv", written)
    known = {"m0": "spam", "m1": "spam", "m2": "spam", "m3": "ham"}
    found = SpamFilter().update(box, known)
    assert found.n_neighbors.tolist()[5] == 0
    assert found.score[5] == 0.5
    assert found.is_spam.tolist() == [True, True, True, False, False, False]


def test_a_filter_of_another_seed_is_refused(kinds_and_box, tmp_path):
    _, box = kinds_and_box
    spam = SpamFilter(random_state=3)
    spam.update(box, {"m0": "ham", "m1": "spam"})
    spam.save(tmp_path / "spam.model")
    assert SpamFilter.load_or_new(tmp_path / "spam.model", random_state=3).n_mails == 60
    with pytest.raises(InputError, match="made with random_state=3; give the same"):
        SpamFilter.load_or_new(tmp_path / "spam.model")


def test_uncertain_mails_are_listed_early():
    """Mails 0 to 39 are as good as certain, 40 to 79 undecided, 80 has no neighbor, 81 a label."""
    score = np.r_[np.full(40, 1e-6), np.full(41, 0.5), 1.0]
    scored = ScoredMails(
        ids=np.array([f"m{i}" for i in range(82)]),
        is_spam=score > 0.5,
        score=score,
        is_labeled=np.arange(82) == 81,
        is_new=np.ones(82, dtype=bool),
        n_neighbors=np.where(np.arange(82) == 80, 0, 3),
        counts={},
    )
    mails = [Mail(id=f"m{i}", label=-1, text="", subject=f"s{i}") for i in range(82)]
    table = mails_to_label(scored, mails, {"m81": "spam", "gone": "ham", "m3": ""}, random_state=5)
    numbers = [int(node[1:]) for node in table["node"][:-1]]
    assert sorted(numbers[:80]) == list(range(80))
    # A certain mail precedes the last uncertain one with probability 40e-6 (log(40) + 0.58) / 0.25.
    assert set(numbers[:40]) == set(range(40, 80))
    assert numbers[:40] != sorted(numbers[:40])
    assert numbers[80:] == [80, 81]
    assert table["label"] == [None] * 81 + ["spam", "ham"]
    assert table["subject"][:2] == [f"s{n}" for n in numbers[:2]]
    assert table["score"][-1] is None
    other = mails_to_label(scored, mails, {"m81": "spam"}, random_state=6)
    assert other["node"] != table["node"][:-1]
