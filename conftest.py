"""Doctests, those of the README among them, run in a folder of their own."""

import pytest


@pytest.fixture(autouse=True)
def _doctest_folder(request, monkeypatch, tmp_path):
    if request.node.__class__.__name__ == "DoctestItem":
        monkeypatch.chdir(tmp_path)
