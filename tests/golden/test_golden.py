"""Every stage gives the results that were recorded for it."""

import numpy as np
import pytest

from tests.golden.stages import FOLDER, STAGES, run_stage

# Rounding in sums differs between processors and versions of BLAS. A changed formula or another
# random number differs by far more.
RTOL = 1e-6
# A few iterations from a coarse sparsifier amplify rounding; decisions are compared exactly.
RTOL_BY_STAGE = {"sparse_hfs_several_passes": 1e-4}


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


def test_every_recorded_result_has_a_stage():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(STAGES)
