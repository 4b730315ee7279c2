"""Doctests, those of the README among them, run in a folder of their own."""

from importlib.util import find_spec

import pytest

if find_spec("river") is None:
    collect_ignore = ["graphsqueak/integrations/river_models.py"]


@pytest.fixture(autouse=True)
def _doctest_folder(request, monkeypatch, tmp_path):
    if request.node.__class__.__name__ == "DoctestItem":
        monkeypatch.chdir(tmp_path)
