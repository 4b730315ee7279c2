"""What all tests share: doctests in a folder of their own, and pages among the slow ones."""

import pytest


def pytest_collection_modifyitems(items):
    """A page is a whole session: README and docs are slow."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _doctest_folder(request, monkeypatch, tmp_path):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
