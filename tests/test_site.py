"""The site: nothing that is in docs, notebooks or the public interface is left out."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphsqueak

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "docs" / "site" / "build.py"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("site_build", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "source"
    build.gather(folder)
    return folder


def entries(page):
    """What the tables of contents of a page list, as paths without an ending."""
    blocks = re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines if line and line[0] != ":"]
    return [page.parent / name for name in names]


def test_every_page_is_reached_once_from_the_front_page(source):
    reached, waiting = [], [source / "index.md"]
    while waiting:
        page = waiting.pop()
        reached.append(page)
        if page.suffix == ".md":
            for entry in entries(page):
                found = list(entry.parent.glob(f"{entry.name}.md"))
                found += entry.parent.glob(f"{entry.name}.rst")
                found += entry.parent.glob(f"{entry.name}.ipynb")
                assert len(found) == 1, entry
                waiting += found
    assert len(set(reached)) == len(reached)
    written = {p for ending in ("md", "rst", "ipynb") for p in source.rglob(f"*.{ending}")}
    assert set(reached) == written
    names = {page.name for page in reached}
    assert {path.name for path in ROOT.glob("docs/**/*.md")} <= names
    assert {path.name for path in ROOT.glob("notebooks/*.ipynb")} <= names


def test_every_public_name_has_a_page_and_a_link(source):
    index = (source / "docs" / "api.md").read_text()
    for name in graphsqueak.__all__:
        thing = getattr(graphsqueak, name)
        if hasattr(thing, "__path__") or type(thing).__name__ == "module":
            assert f"\n## graphsqueak.{name}\n" in index
            assert all(f"[`{inner}`](" in index for inner in thing.__all__)
        else:
            assert f"[`{name}`](api/graphsqueak.{name}.rst)" in index
    for link in re.findall(r"\]\((api/[^)]+)\)", index):
        assert (source / "docs" / link).is_file(), link


def test_a_class_shows_inherited_methods_that_are_ours_alone(build):
    members = build.own_members(graphsqueak.StableHFSClassifier)
    assert {"fit", "predict_new", "prediction_sets"} <= set(members)
    assert not {"get_params", "get_metadata_routing"} & set(members)


def test_a_card_has_the_first_picture_of_its_notebook(source):
    gallery = (source / "notebooks" / "index.md").read_text()
    for path in ROOT.glob("notebooks/*.ipynb"):
        assert f":link: {path.stem}\n" in gallery
        outputs = [o for c in json.loads(path.read_text())["cells"] for o in c.get("outputs", ())]
        if any("image/png" in output.get("data", {}) for output in outputs):
            thumbnail = source / "notebooks" / f"{path.stem}.thumbnail.png"
            assert thumbnail.read_bytes().startswith(b"\x89PNG")
            assert thumbnail.name in gallery


@pytest.mark.slow
def test_sphinx_builds_it_without_a_warning(tmp_path):
    """Where the extra docs is installed; it is no part of the extra test."""
    for name in ("sphinx", "numpydoc", "myst_nb", "pydata_sphinx_theme", "sphinx_design"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed; pip install '.[docs]'")
    done = subprocess.run(
        [sys.executable, str(BUILD), "--out", str(tmp_path / "site")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "docs" / "api" / "graphsqueak.sparsify.html").read_text()
    assert "Parameters" in page
    assert (tmp_path / "site" / "searchindex.js").is_file()
