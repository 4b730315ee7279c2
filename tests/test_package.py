"""The package as a newcomer meets it: imports, contracts, shipped data."""

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graphsqueak

ROOT = Path(__file__).parent.parent
HEAVY = ("dask", "matplotlib", "networkx", "polars", "pyamg", "sklearn")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("module", ["graphsqueak", "graphsqueak.cli", "graphsqueak.sources"])
def test_importing_is_light(module):
    loaded = python(f"import sys, {module}; print(*sys.modules)").stdout.split()
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded}


def test_help_loads_no_numerics():
    code = "import sys; from graphsqueak.cli import run; run(['--help']); print(*sys.modules)"
    loaded = {name.partition(".")[0] for name in python(code).stdout.split()}
    assert not {"numba", "scipy", *HEAVY} & loaded


def test_every_public_name_is_there_and_documented():
    for name in graphsqueak.__all__:
        assert getattr(graphsqueak, name).__doc__
    assert set(graphsqueak.__all__) <= set(dir(graphsqueak))
    with pytest.raises(AttributeError, match="no attribute 'sparsifyy'"):
        graphsqueak.sparsifyy  # noqa: B018


def test_nothing_that_must_be_compiled_by_the_user_is_required():
    """scikit-sparse, the usual way to CHOLMOD, does not install from pip everywhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = " ".join(project["dependencies"]).lower()
    assert not [
        name for name in ("sparse==", "scikit-sparse", "cholmod", "petsc") if name in required
    ]


def test_shipped_files_match_their_checksums():
    rows = re.findall(r"^\| `([\w.-]+)` .*`([0-9a-f]{64})` \|$", readme("datasets"), re.MULTILINE)
    assert {name for name, _ in rows} == {
        path.name for path in (ROOT / "datasets").iterdir() if path.name != "README.md"
    }
    for name, checksum in rows:
        assert hashlib.sha256((ROOT / "datasets" / name).read_bytes()).hexdigest() == checksum


def readme(folder):
    return (ROOT / folder / "README.md").read_text()
