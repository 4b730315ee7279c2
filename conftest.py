"""What all tests share: doctests in a folder of their own, and pages among the slow ones."""

from importlib.util import find_spec

import pytest

if find_spec("river") is None:
    collect_ignore = ["graphsqueak/integrations/river_models.py"]


def pytest_collection_modifyitems(items):
    """A page is a whole session: README and docs are slow."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _doctest_folder(request, monkeypatch, tmp_path):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
