"""Words and their TF-IDF weights, by hand."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.mail.words import stem, text_points, words


@pytest.mark.parametrize(
    ("word", "expected"),
    [("ties", "ti"), ("glass", "glass"), ("is", "i"), ("sized", "size"), ("falling", "fall"),
     ("troubled", "trouble"), ("conflated", "conflate"), ("bled", "bled"), ("tanned", "tan")],
)  # fmt: skip
def test_stems_are_those_of_porter_s_first_step(word, expected):
    assert stem(word) == expected


def test_words_leave_out_what_says_nothing():
    assert words("I am the 42nd_winner, " + "x" * 30 + " ÉTÉ") == ["00nd", "winner", "été"]
    assert words("winners", stemming=False) == ["winners"]


def test_punctuation_and_stop_words_are_counted_unless_excluded():
    texts = ["you win", "you win!!", "win"]
    assert text_points(texts)[1].tolist() == ["!!", "win", "you"]
    assert text_points(texts, punctuation=False)[1].tolist() == ["win"]


def test_words_in_one_or_two_of_a_hundred_mails_are_dropped():
    texts = ["ox"] * 96 + ["ox cow"] * 3
    assert text_points([*texts[:98], "dog"])[1].tolist() == ["cow", "dog", "ox"]
    assert text_points([*texts, "dog"])[1].tolist() == ["cow", "ox"]
    assert text_points([*texts, "dog"], min_mails=1)[1].tolist() == ["cow", "dog", "ox"]


def test_weights_are_tf_times_idf_at_length_one():
    points, vocabulary = text_points(["ox ox cow", "cow"], sublinear=False)
    assert vocabulary.tolist() == ["cow", "ox"]
    rare = np.log(3 / 2) + 1
    expected = np.array([1, 2 * rare]) / np.hypot(1, 2 * rare)
    np.testing.assert_allclose(points.toarray(), [expected, [1, 0]], rtol=1e-6)
    sublinear, _ = text_points(["ox ox cow", "cow"])
    rare *= 1 + np.log(2)
    np.testing.assert_allclose(sublinear.toarray()[0], [1, rare] / np.hypot(1, rare), rtol=1e-6)


def test_the_commonest_and_rarest_words_are_dropped():
    alphabet = [f"word{chr(97 + i)}" for i in range(10)]
    texts = [" ".join(alphabet[i:]) for i in range(10)]  # worda in 1 text, ..., wordj in 10
    kept = text_points(texts, drop_common=0.2, drop_rare=0.1)[1].tolist()
    assert kept == alphabet[1:8]
    assert text_points(texts, min_mails=9)[1].tolist() == alphabet[8:]


def test_texts_without_words_are_rows_of_zeros():
    points, vocabulary = text_points(["", " ", "\n"])
    assert points.shape == (3, 0)
    assert vocabulary.size == 0
    assert text_points(["", "cow ox"])[0].toarray()[0].tolist() == [0, 0]


@pytest.mark.parametrize("settings", [{"drop_common": 1.0}, {"drop_rare": -1}, {"min_mails": 0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        text_points(["x"], **settings)
