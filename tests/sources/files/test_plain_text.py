"""Text tables for polars: a path if the file is plain, else its bytes."""

import bz2
import gzip

import pytest

from graphsqueak import InputError
from graphsqueak.sources.files.plain_text import text_source


def test_a_plain_file_stays_a_path(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n")
    assert text_source(path) == path


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_compressed_file_is_decompressed(tmp_path, compress):
    path = tmp_path / "table.csv"
    path.write_bytes(compress(b"a,b\n1,2\n"))
    assert text_source(path) == b"a,b\n1,2\n"


def test_other_paths_are_refused(tmp_path):
    with pytest.raises(InputError, match="is not a file or a pipe"):
        text_source(tmp_path)
    with pytest.raises(FileNotFoundError):
        text_source(tmp_path / "missing.csv")
