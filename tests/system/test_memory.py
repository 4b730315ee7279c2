"""Memory of the process and of the machine, and sizes as text."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.system.memory import (
    available_memory,
    check_fits,
    peak_rss,
    readable_size,
    size_in_bytes,
)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("3", 3 << 30),
        ("0.5", 1 << 29),
        ("100k", 100_000),
        ("100KiB", 100 << 10),
        (" 2 GB ", 2 * 10**9),
        ("2gib", 2 << 30),
        ("1.5T", 15 * 10**11),
    ],
)
def test_sizes_with_and_without_units(text, n_bytes):
    assert size_in_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["", "much", "-1GB", "2 GBs", "1e9", "GB"])
def test_texts_that_are_not_sizes(text):
    with pytest.raises(InputError, match="is not a memory size; write it as 2GB"):
        size_in_bytes(text)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1 << 41, "2,048.0 GiB")],
)
def test_readable_sizes(n_bytes, text):
    assert readable_size(n_bytes) == text


def test_the_peak_includes_an_array_that_was_written():
    before = peak_rss()
    array = np.ones(1 << 24)
    # The process may have used more memory before, so that the peak need not grow.
    assert peak_rss() >= max(before, array.nbytes)


def test_more_than_the_available_memory_is_refused():
    check_fits(available_memory() // 2, "half of it")
    with pytest.raises(InputError, match=r"twice of it needs .* GiB of memory; .* GiB are free"):
        check_fits(2 * available_memory(), "twice of it")
