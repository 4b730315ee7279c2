"""Working ahead changes neither order nor errors, and ends with its consumer."""

import threading
import time

import numba
import pytest

from graphsqueak.system.kernels import prefetch_map, run_in_thread


def test_order_is_kept_when_later_items_finish_first():
    def work(number):
        time.sleep(0.01 * (number % 3 == 0))
        return number

    assert list(prefetch_map(work, range(30), n_workers=3)) == list(range(30))
    assert list(prefetch_map(work, range(5), n_spare=1_000)) == list(range(5))  # one thread is left


@pytest.mark.parametrize("fails_in", ["items", "function"])
def test_errors_arrive_in_their_place(fails_in):
    def items():
        for number in range(10):
            if fails_in == "items" and number == 5:
                raise ZeroDivisionError
            yield number

    def work(number):
        if fails_in == "function" and number == 5:
            raise ZeroDivisionError
        return number

    ahead = prefetch_map(work, items(), n_workers=2)
    assert [next(ahead) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        next(ahead)


def test_few_items_are_drawn_ahead():
    drawn = []

    def items():
        for number in range(1000):
            drawn.append(number)
            yield number

    ahead = prefetch_map(lambda number: number, items(), n_workers=2)
    assert next(ahead) == 0
    time.sleep(0.1)
    assert len(drawn) <= 4
    ahead.close()


def test_threads_end_when_the_consumer_stops_early():
    before = threading.active_count()
    for _ in range(20):
        ahead = prefetch_map(lambda number: number, range(10**6), n_workers=2)
        assert next(ahead) == 0
        ahead.close()
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_items_are_closed_when_the_consumer_stops():
    """Some libraries let one reader be open at a time: the next one must not find this one so."""
    closed = []

    def items():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    ahead = prefetch_map(lambda number: number, items(), n_workers=2)
    next(ahead)
    ahead.close()
    assert closed == [True]


def test_what_is_done_alongside_has_one_core_and_hands_on_its_failure():
    assert run_in_thread(numba.get_num_threads)() == 1
    failing = run_in_thread(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        failing()


def test_nothing_is_done_alongside_where_one_thread_is_allowed():
    allowed = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert run_in_thread(threading.get_ident)() == threading.get_ident()
    finally:
        numba.set_num_threads(allowed)
