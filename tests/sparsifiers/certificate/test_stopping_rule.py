"""When a certificate stops, and the description of bounds that are not close."""

import numpy as np
import pytest

from graphsqueak.sparsifiers.certificate.stopping_rule import StoppingRule


def test_bounds_within_rtol_stop():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    assert rule.is_met([(0.5, 0.509)])
    assert not rule.is_met([(0.5, 0.511)])
    assert rule.is_met([(0.0, 1e-7)])


def test_a_large_kappa_has_to_be_known():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    assert rule.is_met([(0.5, 0.5)], 8.0, 100.0)
    assert not rule.is_met([(0.5, 0.5)], 10.0, 11.5)
    assert rule.is_met([(0.5, 0.5)], 10.0, 10.9)


@pytest.mark.parametrize(
    ("bounds", "is_met"),
    [((0.1, 0.3), True), ((0.1, 0.31), False), ((0.32, 0.9), False), ((0.34, 0.9), True)],
)
def test_a_goal_stops_when_it_is_decided(bounds, is_met):
    assert StoppingRule(max_steps=100, rtol=0.02, goal=0.3).is_met([bounds]) == is_met


def test_the_last_step_stops():
    rule = StoppingRule(max_steps=2, rtol=0.02, goal=None)
    assert not rule.is_met([(0.1, np.inf)])
    assert rule.is_met(2 * [(0.1, np.inf)])


def test_a_lower_bound_that_does_not_grow_is_stagnant():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    assert not rule.is_stagnant([(0.5, 1.0)])
    assert not rule.is_stagnant([(0.5, 1.0), (0.6, 1.0)])
    assert rule.is_stagnant([(0.5, 1.0), (0.505, 1.0)])


def test_unresolved_bounds_are_described():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    describe = rule.describe_unresolved
    assert describe([(0.5, 0.505)], (0.5, 0.505), (0.1, 0.2)) == ""
    text = "after 1 step the sparsifier is too heavy by at least 0.5 and at most 0.9"
    assert describe([(0.5, 0.9)], (0.5, 0.9), (0.1, 0.2)) == text
    both = describe([(0.5, 0.9)], (0.5, 0.9), (-0.1, 0.7), is_limited=True)
    assert both.startswith(f"{text} and too light by at least 0 and at most 0.7; ")
    assert both.endswith("use method='dense'")


def test_progress_extrapolates_gaps_that_shrink_geometrically():
    """Gaps of 1.6, 0.8, 0.4 and 0.2 in the logarithm: log1p(rtol) = 0.1 needs one more step."""
    rule = StoppingRule(max_steps=100, rtol=np.expm1(0.1), goal=None)
    history = [(1.0, np.exp(gap)) for gap in (1.6, 0.8, 0.4, 0.2)]
    assert rule.fraction_done(history, 0.0) == pytest.approx(4 / 5)
    assert rule.fraction_done(history, 0.5) == pytest.approx(4.5 / 5)
    assert np.isnan(rule.fraction_done(history[:1], 0.0))
