"""Slopes are derivatives; L and sigma are what they claim, and cannot be better."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.online.losses import LOSSES, get_loss

BOTH = pytest.mark.parametrize("name", list(LOSSES))
CLIP = pytest.mark.parametrize("clip", [0.5, 1.0, 2.5])


def targets(loss, clip):
    return (-1.0, 1.0) if loss.is_classification else (-clip, 0.3 * clip, clip)


@BOTH
def test_slopes_are_derivatives(name):
    loss, z = get_loss(name), np.linspace(-2.97, 3.01, 60)
    for y in (-1.0, 1.0):
        rise = loss.value(y, z + 1e-6) - loss.value(y, z - 1e-6)
        np.testing.assert_allclose(loss.derivative(y, z), rise / 2e-6, atol=1e-6)


@BOTH
@CLIP
def test_constants_hold_and_are_attained(name, clip):
    loss = get_loss(name)
    u, z = np.meshgrid(np.linspace(-clip, clip, 81), np.linspace(-clip, clip, 80))
    worst, steepest = np.inf, 0.0
    for y in targets(loss, clip):
        slope = loss.derivative(y, u)
        gap = loss.value(y, z) - loss.value(y, u) - slope * (z - u)
        sloped = (np.abs(slope) > 1e-6) & (np.abs(z - u) > 1e-6)
        bend = 2 * gap[sloped] / (slope * (z - u))[sloped] ** 2
        worst, steepest = min(worst, bend.min()), max(steepest, np.abs(slope).max())
    assert worst >= loss.sigma(clip) - 1e-6
    assert worst <= loss.sigma(clip) * 1.03 + 1e-6  # a grid comes that close
    assert steepest <= loss.lipschitz(clip) + 1e-12


@BOTH
@CLIP
def test_the_curvature_at_a_prediction_is_the_largest_possible(name, clip):
    loss = get_loss(name)
    u, z = np.linspace(-clip, clip, 82)[1:-1], np.linspace(-clip, clip, 2001)
    for y in targets(loss, clip):
        slope, h = loss.derivative(y, u), loss.curvature(y, u, clip)
        gap = loss.value(y, z[:, None]) - loss.value(y, u) - slope * (z[:, None] - u)
        apart = np.abs(z[:, None] - u)
        bend = np.where(apart > 1e-3, 2 * gap / np.maximum(apart, 1e-3) ** 2, np.inf).min(axis=0)
        np.testing.assert_allclose(h, bend, atol=2e-3)
        assert np.all(h >= loss.sigma(clip) * slope**2 - 1e-12)


def test_a_prediction_clipped_to_the_margin_is_no_exception():
    """Otherwise rounding would decide between the curvatures 2 and 0."""
    loss, u = get_loss("squared_hinge"), np.array([1.0, np.nextafter(1.0, 0.0)])
    np.testing.assert_array_equal(loss.curvature(1.0, u, 1.0), 2.0)
    np.testing.assert_allclose(loss.curvature(1.0, u, 3.0), 0.0, atol=1e-12)


def test_odd_names_are_refused():
    with pytest.raises(InputError, match="not one of 'squared'"):
        get_loss("absolute")
    with pytest.raises(InputError, match="must be a name"):
        get_loss(3)
