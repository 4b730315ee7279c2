"""Run doctests in a folder of their own."""

import pytest


@pytest.fixture(autouse=True)
def _doctest_folder(request, monkeypatch, tmp_path):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
