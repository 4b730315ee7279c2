"""When a certificate stops, and the description of bounds that are not close."""

import numpy as np
import pytest

from graphsqueak.sparsifiers.certificate.stopping_rule import ExtremeRatios, StoppingRule

KNOWN = ExtremeRatios(lowest=(0.5, 0.5), highest=(1.5, 1.5))


def test_bounds_within_rtol_stop():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    assert rule.is_met([(0.5, 0.509)], KNOWN)
    assert not rule.is_met([(0.5, 0.511)], KNOWN)
    assert rule.is_met([(0.0, 1e-8)], KNOWN)


def test_kappa_has_to_be_known():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    assert not rule.is_met([(0.5, 0.5)], ExtremeRatios((0.1, 0.1), (1.0, 1.15)))
    assert rule.is_met([(0.5, 0.5)], ExtremeRatios((0.1, 0.1), (1.0, 1.09)))


def test_extreme_ratios_bound_epsilon_and_kappa():
    extremes = ExtremeRatios(lowest=(0.4, 0.5), highest=(1.25, 2.0))
    assert extremes.epsilon == (0.5, 1.0)
    assert extremes.kappa == (2.5, 5.0)
    assert ExtremeRatios(lowest=(0.0, 1.1), highest=(0.9, np.inf)).epsilon == (0.0, np.inf)
    assert ExtremeRatios(lowest=(0.0, 1.1), highest=(0.9, 1.0)).kappa == (1.0, np.inf)


@pytest.mark.parametrize(
    ("bounds", "is_met"),
    [((0.1, 0.3), True), ((0.1, 0.31), False), ((0.32, 0.9), False), ((0.34, 0.9), True)],
)
def test_a_goal_stops_when_it_is_decided(bounds, is_met):
    assert StoppingRule(max_steps=100, rtol=0.02, goal=0.3).is_met([bounds], KNOWN) == is_met


def test_the_last_step_stops():
    rule = StoppingRule(max_steps=2, rtol=0.02, goal=None)
    assert not rule.is_met([(0.1, np.inf)], KNOWN)
    assert rule.is_met(2 * [(0.1, np.inf)], KNOWN)


def test_a_lower_bound_that_does_not_grow_is_stagnant():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    assert not rule.is_stagnant([(0.5, 1.0)])
    assert not rule.is_stagnant([(0.5, 1.0), (0.6, 1.0)])
    assert rule.is_stagnant([(0.5, 1.0), (0.505, 1.0)])


def test_unresolved_bounds_are_described():
    rule = StoppingRule(max_steps=100, rtol=0.02, goal=None)
    describe = rule.describe_unresolved
    close = ExtremeRatios(lowest=(0.8, 0.9), highest=(1.5, 1.505))
    assert describe([(0.5, 0.505)], close) == ""
    heavy = ExtremeRatios(lowest=(0.8, 0.9), highest=(1.5, 1.9))
    text = "after 1 step the sparsifier is too heavy by at least 0.5 and at most 0.9"
    assert describe([(0.5, 0.9)], heavy) == text
    unknown = ExtremeRatios(lowest=(0.3, 1.1), highest=(1.5, 1.9))
    both = describe([(0.5, 0.9)], unknown, is_limited=True)
    assert both.startswith(f"{text} and too light by at least 0 and at most 0.7; ")
    assert both.endswith("use method='dense'")


def test_progress_extrapolates_gaps_that_shrink_geometrically():
    """Gaps of 1.6, 0.8, 0.4 and 0.2 in the logarithm: log1p(rtol) = 0.1 needs one more step."""
    rule = StoppingRule(max_steps=100, rtol=np.expm1(0.1), goal=None)
    history = [(1.0, np.exp(gap)) for gap in (1.6, 0.8, 0.4, 0.2)]
    assert rule.fraction_done(history, 0.0) == pytest.approx(4 / 5)
    assert rule.fraction_done(history, 0.5) == pytest.approx(4.5 / 5)
    assert np.isnan(rule.fraction_done(history[:1], 0.0))
