"""The documentation site: every page, notebook and public name is in it and can be reached."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "docs" / "site" / "build.py"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("site_build", BUILD)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module.
    sys.modules["site_build"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "source"
    build.write_sources(folder)
    return folder


def entries(page):
    """Return the entries of the tables of contents of a page, as paths without a suffix."""
    blocks = re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines if line and line[0] != ":"]
    return [Path(os.path.normpath(page.parent / name)) for name in names]


def test_every_page_is_reached_once_from_the_front_page(source):
    reached = []
    waiting = [source / "index.md"]
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
    written = {path for suffix in ("md", "rst", "ipynb") for path in source.rglob(f"*.{suffix}")}
    assert set(reached) == written


def test_every_file_of_the_documentation_is_in_the_site(source):
    for path in ROOT.glob("docs/**/*.md"):
        assert (source / path.relative_to(ROOT / "docs")).is_file(), path
    for path in ROOT.glob("notebooks/*.ipynb"):
        assert (source / "notebooks" / path.name).is_file(), path
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        assert (source / "project" / name).is_file()


def test_pages_come_in_the_order_of_the_list_and_unlisted_pages_follow(build, tmp_path):
    for name in ("b", "c", "a", "index"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n")
    assert build.section_pages(tmp_path, first=("c", "absent")) == ["c", "a", "b"]


def test_the_index_of_a_section_has_a_card_for_each_page(source):
    index = (source / "start" / "index.md").read_text()
    for path in ROOT.glob("docs/start/*.md"):
        assert f":link: {path.stem}\n" in index


def test_links_lead_from_page_to_page_of_the_site(build):
    page = ROOT / "docs" / "howto" / "index.md"
    links = {
        "[a](../start/install.md)": "[a](../start/install.md)",
        "[a](../../SECURITY.md#b)": "[a](../project/SECURITY.md#b)",
        "[a](../../README.md)": "[a](../index.md)",
        "[a](../../notebooks)": "[a](../notebooks/index.md)",
        "![a](../hero.svg)": "![a](../hero.svg)",
        "[a](../../conftest.py)": "a",
        "[a](https://example.org/x.md)": "[a](https://example.org/x.md)",
        "[a](absent.md)": "[a](absent.md)",
    }
    for before, after in links.items():
        assert build.with_site_links(before, page) == after
    notebook = ROOT / "notebooks" / "01_snap_graph.ipynb"
    cell = "[a](../docs/api.md), x[0](1)"
    assert build.with_site_links(cell, notebook) == "[a](../api.md), x[0](1)"


def test_every_public_name_has_a_page_and_a_link(build, source):
    index = (source / "api.md").read_text()
    names = build.load_generator().public_names()
    assert {"sparsify", "kernel.SQUEAK"} <= names
    for name in names:
        address = f"api/graphsqueak.{name}.rst"
        assert f"[`gs.{name}`]({address})" in index
        assert (source / address).is_file()


def test_a_class_shows_inherited_methods_without_those_of_other_libraries(build):
    from graphsqueak import StableHFSClassifier

    members = build.documented_members(StableHFSClassifier)
    assert {"fit", "predict_new", "uncertainty_"} <= set(members)
    assert not {"get_params", "get_metadata_routing"} & set(members)


def test_the_card_of_a_notebook_has_its_first_figure(source):
    gallery = (source / "notebooks" / "index.md").read_text()
    for path in ROOT.glob("notebooks/*.ipynb"):
        assert f":link: {path.stem}\n" in gallery
        cells = json.loads(path.read_text())["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        if any("image/png" in output.get("data", {}) for output in outputs):
            thumbnail = source / "notebooks" / f"{path.stem}.thumbnail.png"
            assert thumbnail.read_bytes().startswith(b"\x89PNG")
            assert thumbnail.name in gallery


EXTENSIONS = (
    "sphinx",
    "numpydoc",
    "myst_nb",
    "pydata_sphinx_theme",
    "sphinx_design",
    "sphinx-mathjax-offline",
)


@pytest.mark.slow
def test_sphinx_builds_the_site_without_warnings_and_without_the_network(tmp_path):
    """Skipped unless the extra docs, which is not part of the extra test, is installed."""
    for name in EXTENSIONS:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed; pip install '.[docs]'")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, str(BUILD), "--out", str(site)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (site / "api" / "graphsqueak.sparsify.html").read_text()
    assert "Parameters" in page
    assert (site / "searchindex.js").is_file()

    # Pages load scripts, styles and images from the site alone.
    pages = list(site.rglob("*.html"))
    for page in pages:
        loaded = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"([^\"]*)\"", page.read_text())
        assert not [address for address in loaded if "//" in address], page
    with_formulas = [page for page in pages if 'class="math' in page.read_text()]
    assert with_formulas
    assert (site / "_static" / "mathjax" / "tex-chtml.js").is_file()
