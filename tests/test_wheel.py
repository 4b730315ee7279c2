"""What users install: the wheel, built from the sdist, in an environment of its own."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from graphsqueak import __version__

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*command, folder):
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    uncompiled = outside | {"NUMBA_DISABLE_JIT": "1"}  # a new folder has no cache of compiled code
    done = subprocess.run(
        command, cwd=folder, env=uncompiled, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(target, source, out):
    """Build without asking the network for the build's own requirements."""
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out), folder=source)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    build("sdist", ROOT, out)
    return out / f"graphsqueak-{__version__}.tar.gz"


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(out, filter="data")
    build("wheel", out / f"graphsqueak-{__version__}", out)
    return out / f"graphsqueak-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def scripts(wheel, tmp_path_factory):
    """A clean environment that has the wheel; its requirements are seen through a .pth file."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, folder=folder)
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", vars=paths))
    (site / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_the_wheel_has_license_types_stubs_and_data(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    stubs = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("graphsqueak/**/*.pyi")}
    data = {f"graphsqueak/_data/{path.name}" for path in (ROOT / "datasets").iterdir()}
    license_file = f"graphsqueak-{__version__}.dist-info/licenses/LICENSE"
    assert names >= {"graphsqueak/py.typed", license_file} | stubs | data
    assert stubs
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"graphsqueak", f"graphsqueak-{__version__}.dist-info"}


def test_the_sdist_has_what_tests_need(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"LICENSE", "CITATION.cff", "README.md", "Makefile", "tests/test_wheel.py"}


def test_the_installed_command_works(scripts, tmp_path):
    command = scripts / "graphsqueak"
    assert run(command, "--version", folder=tmp_path).strip() == __version__
    (tmp_path / "edges.tsv").write_text("ann bob\nbob cy\ncy ann\n")
    options = ("-o", "sparse.tsv", "--n-edges", "3", "--seed", "7", "--json")
    record = json.loads(run(command, "sparsify", "edges.tsv", *options, folder=tmp_path))
    assert (record["nodes"], record["edges_kept"]) == (3, 3)
    assert (tmp_path / "sparse.tsv").exists()


def test_the_installed_package_is_the_one_that_was_built(scripts, tmp_path):
    code = "import graphsqueak as gs; print(gs.__file__); print(gs.datasets.load_karate())"
    path, karate = run(scripts / "python", "-c", code, folder=tmp_path).splitlines()
    assert Path(path).is_relative_to(scripts.parent)
    assert karate == "EdgeList(n_nodes=34, n_edges=78, total_weight=231)"
