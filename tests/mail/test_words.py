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


def test_marks_and_stop_words_tell_mails_apart_on_request():
    texts = ["you win", "you win!!", "win"]
    how = {"drop_common": 0, "drop_rare": 0}
    assert text_points(texts, **how)[1].tolist() == ["win"]
    assert text_points(texts, punctuation=True, **how)[1].tolist() == ["!!", "win", "you"]


def test_weights_are_tf_times_idf_at_length_one():
    points, vocabulary = text_points(["ox ox cow", "cow"], drop_common=0, drop_rare=0)
    assert vocabulary.tolist() == ["cow", "ox"]
    rare = np.log(3 / 2) + 1
    expected = np.array([1, 2 * rare]) / np.hypot(1, 2 * rare)
    np.testing.assert_allclose(points.toarray(), [expected, [1, 0]], rtol=1e-6)
    sublinear, _ = text_points(["ox ox cow", "cow"], drop_common=0, drop_rare=0, sublinear=True)
    rare *= 1 + np.log(2)
    np.testing.assert_allclose(sublinear.toarray()[0], [1, rare] / np.hypot(1, rare), rtol=1e-6)


def test_the_commonest_and_rarest_words_are_dropped():
    alphabet = [f"word{chr(97 + i)}" for i in range(10)]
    texts = [" ".join(alphabet[i:]) for i in range(10)]  # worda in 1 text, ..., wordj in 10
    kept = text_points(texts, drop_common=0.2, drop_rare=0.1)[1].tolist()
    assert kept == alphabet[1:8]
    assert text_points(texts, drop_common=0, drop_rare=0, min_mails=9)[1].tolist() == alphabet[8:]


def test_texts_without_words_are_rows_of_zeros():
    points, vocabulary = text_points(["", "...", "the of"])
    assert points.shape == (3, 0)
    assert vocabulary.size == 0
    assert text_points(["", "cow ox"], drop_common=0, drop_rare=0)[0].toarray()[0].tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("settings", [{"drop_common": 1.0}, {"drop_rare": -1}, {"min_mails": 0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        text_points(["x"], **settings)
