"""Every stage gives the results that were recorded for it."""

import json

import numpy as np
import pytest

from tests.golden.stages import FOLDER, STAGES, TEXT_STAGES, run_stage

# Rounding in sums differs between processors and versions of BLAS. A changed formula or another
# random number differs by far more.
RTOL = 1e-6
# A few iterations from a coarse sparsifier amplify rounding; decisions are compared exactly.
RTOL_BY_STAGE = {"sparse_hfs_several_passes": 1e-4}
# Numbers in text are recorded with six digits.
TEXT_RTOL = 1e-5


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_gives_the_recorded_result(stage):
    found = run_stage(stage)
    rtol = RTOL_BY_STAGE.get(stage, RTOL)
    with np.load(FOLDER / f"{stage}.npz") as recorded:
        assert found.keys() == set(recorded.files)
        for name in recorded.files:
            expected = recorded[name]
            assert found[name].shape == expected.shape, name
            if expected.dtype.kind == "f":
                scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
                np.testing.assert_allclose(
                    found[name], expected, rtol=rtol, atol=rtol * scale, err_msg=name
                )
            else:
                np.testing.assert_array_equal(found[name], expected, err_msg=name)


@pytest.mark.parametrize("stage", TEXT_STAGES)
def test_a_stage_gives_the_recorded_text(stage):
    recorded = json.loads((FOLDER / f"{stage}.json").read_text(encoding="utf-8"))
    found = json.loads(json.dumps(run_stage(stage)))
    assert list(text_differences(recorded, found)) == []


def text_differences(recorded, found, path=""):
    """One line per value that differs."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in recorded | found:
            missing = "(missing)"
            yield from text_differences(
                recorded.get(key, missing), found.get(key, missing), f"{path}/{key}"
            )
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for number, (before, after) in enumerate(zip(recorded, found, strict=True)):
            yield from text_differences(before, after, f"{path}[{number}]")
    elif isinstance(recorded, float) and isinstance(found, float):
        if found != pytest.approx(recorded, rel=TEXT_RTOL, nan_ok=True):
            yield f"{path}: {recorded} -> {found}"
    elif recorded != found:
        yield f"{path}: {recorded!r} -> {found!r}"


def test_every_recorded_result_has_a_stage():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(STAGES)
    assert {path.stem for path in FOLDER.glob("*.json")} == set(TEXT_STAGES)
