"""Draws of labels, and the rows made of fits."""

import numpy as np
import pytest

from graphsqueak.demo.evaluation import Fit, draw_labels, summarize_fits


def test_draws_have_both_classes_and_hide_the_rest():
    truth = np.array([0] * 98 + [1] * 2)
    for y in draw_labels(truth, 5, 4, 831_405):
        assert set(y[y >= 0]) == {0, 1}
        assert np.count_nonzero(y >= 0) == 5


def test_a_row_has_means_and_the_standard_error():
    fits = [Fit(0.8, 0.7, 100, 1.0), Fit(0.6, 0.5, 300, 3.0)]
    row = summarize_fits("1-NN", 20, fits, 1000)
    assert (row.method, row.labels, row.edges, row.bytes, row.draws) == ("1-NN", 20, 200, 3200, 2)
    assert (row.accuracy, row.edge_fraction, row.seconds) == pytest.approx((0.7, 0.2, 2.0))
    assert row.error == pytest.approx(0.1)  # the deviation 0.1 sqrt(2), over sqrt(2)
