"""One form for every spelling of a path or address, so that no output slips past an input."""

import os
from pathlib import Path

import pytest

from graphsqueak import InputError
from graphsqueak.system.paths import is_remote, is_utf8, is_within, local_path, matches, same_file


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "edges.tsv").write_text("1\t2\n")
    (tmp_path / "two words.tsv").write_text("1\t2\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "soft.tsv").symlink_to("edges.tsv")
    (tmp_path / "hard.tsv").hardlink_to(tmp_path / "edges.tsv")
    (tmp_path / "elsewhere").symlink_to("parts")
    return tmp_path


SPELLINGS = [
    "./edges.tsv",
    "parts/../edges.tsv",
    "~/edges.tsv",
    "{folder}/edges.tsv",
    "/{folder}//edges.tsv",
    "//{folder}/edges.tsv",
    "file:edges.tsv",
    "file:{folder}/edges.tsv",
    "file://edges.tsv",
    "file://{folder}/edges.tsv",
    "FILE://{folder}/edges.tsv",
    "file:///{folder}/edges.tsv",
    "file://localhost{folder}/edges.tsv",
    "file://~/edges.tsv",
    "file://{folder}/%65dges%2Etsv",
    "local://edges.tsv",
    "Local://{folder}/edges.tsv",
    "soft.tsv",
    "hard.tsv",
    "file://{folder}/soft.tsv",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_spellings_of_a_local_file_are_one_file(folder, spelling):
    given = spelling.format(folder=folder)
    assert not is_remote(given)
    assert same_file("edges.tsv", given)
    assert same_file(given, folder / "edges.tsv")
    assert not same_file("two words.tsv", given)
    assert local_path(given).read_text() == "1\t2\n"


@pytest.mark.parametrize("spelling", [s for s in SPELLINGS if "soft" not in s and "hard" not in s])
def test_all_spellings_of_a_file_that_does_not_exist_yet_are_one_file(folder, spelling):
    given = spelling.format(folder=folder)
    (folder / "edges.tsv").unlink()
    assert same_file("edges.tsv", given)
    assert not same_file("parts/edges.tsv", given)


def test_an_address_on_disk_is_decoded_once():
    assert local_path("file:///a/100%25.tsv") == Path("/a/100%.tsv")
    assert local_path("file:///a/%2525.tsv") == Path("/a/%25.tsv")
    assert local_path("file:///a/caf%E9.tsv") == Path(os.fsdecode(b"/a/caf\xe9.tsv"))
    assert local_path("/a/100%25.tsv") == Path("/a/100%25.tsv")
    assert local_path("file://localhost.tsv") == Path("localhost.tsv")


def test_a_file_whose_name_only_looks_like_an_address():
    assert local_path("profile:1.tsv") == Path("profile:1.tsv")
    assert local_path("local:1.tsv") == Path("local:1.tsv")


@pytest.mark.parametrize("path", ["~nobody-of-this-name/x", "file:~nobody-of-this-name/x"])
def test_a_home_folder_that_does_not_exist(path):
    with pytest.raises(InputError, match=r"no home folder for ~nobody-of-this-name; .* \./~nobody"):
        local_path(path)


def test_a_path_with_a_nul_character():
    with pytest.raises(InputError, match="NUL"):
        local_path("file:///a%00b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/a.tsv", "s3a://bucket/a.tsv"),
        ("s3://bucket/a.tsv", "s3n://bucket/a.tsv"),
        ("s3://bucket/a.tsv", "S3://bucket//a.tsv"),
        ("s3://bucket/day/a.tsv", "s3a://bucket/day/./a.tsv"),
        ("gs://bucket/a.tsv", "gcs://bucket/a.tsv"),
        ("abfs://box/a.tsv", "az://box/a.tsv"),
        ("abfs://box/a.tsv", "abfss://box/a.tsv"),
        ("abfss://box@shop.dfs.core.windows.net/a.tsv", "az://box/a.tsv"),
        (
            "abfss://box@shop.dfs.core.windows.net/a.tsv",
            "abfs://box@shop.blob.core.windows.net/a.tsv",
        ),
        ("sftp://host/a.tsv", "ssh://host/a.tsv"),
        ("memory://bucket/a.tsv", "memory:///bucket//a.tsv"),
        ("zip://a.tsv::s3://bucket/a.zip", "s3a://bucket/a.zip"),
        ("zip://a.tsv::file:///data/a.zip", "/data/a.zip"),
    ],
)
def test_addresses_of_one_file(one, other):
    assert same_file(one, other)
    assert same_file(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/a.tsv", "s3://bucket/b.tsv"),
        ("s3://bucket/a.tsv", "s3://other/a.tsv"),
        ("s3://bucket/a.tsv", "gs://bucket/a.tsv"),
        ("s3://bucket/a.tsv", "bucket/a.tsv"),
        ("s3://bucket/a.tsv", "s3://bucket/A.tsv"),
        ("abfs://box@shop.dfs.core.windows.net/a", "abfs://box@yard.dfs.core.windows.net/a"),
    ],
)
def test_addresses_of_two_files(one, other):
    assert not same_file(one, other)


def test_what_lies_in_a_folder(folder):
    assert is_within("parts/new.tsv", "parts/")
    assert is_within("file:parts/new.tsv", folder / "parts")
    assert is_within("elsewhere/new.tsv", "parts")
    assert not is_within("parts2/new.tsv", "parts")
    assert not is_within("parts", "parts/new.tsv")
    assert is_within("s3a://bucket/day//1/a.tsv", "s3://bucket/day/")
    assert is_within("s3://bucket/a.tsv", "s3://bucket")
    assert not is_within("s3://bucket/day2/a.tsv", "s3://bucket/day")
    assert not is_within("parts/new.tsv", "s3://parts")


@pytest.mark.parametrize(
    ("path", "pattern", "is_match"),
    [
        ("parts/new.tsv", "parts/*.tsv", True),
        ("file:parts/new.tsv", "./parts/*", True),
        ("elsewhere/new.tsv", "parts/*.tsv", True),
        ("parts/new.tsv", "elsewhere/*.tsv", True),
        ("parts/new.tsv", "p?rts/new.[tc]sv", True),
        ("parts/new.tsv", "part*", True),  # a folder that matches is read with all its files
        ("parts/day/new.tsv", "parts/**/*.tsv", True),
        ("parts/new.tsv", "parts/**/*.tsv", True),
        ("parts/day/new.tsv", "parts/*.tsv", False),
        ("parts/new.csv", "parts/*.tsv", False),
        ("new.tsv", "parts/*.tsv", False),
        ("parts/new.tsv", "parts/new.tsv", False),  # not a glob
        ("s3a://bucket/parts/new.tsv", "s3://bucket/parts/*.tsv", True),
        ("s3://bucket/parts/new.csv", "s3://bucket/parts/*.tsv", False),
        ("gs://bucket/parts/new.tsv", "s3://bucket/parts/*.tsv", False),
        ("parts/new.tsv", "s3://bucket/parts/*.tsv", False),
    ],
)
def test_what_a_glob_matches(folder, path, pattern, is_match):
    assert matches(path, pattern) == is_match


def test_a_file_whose_name_looks_like_a_glob_is_not_one(folder):
    (folder / "a[1].tsv").write_text("1\t2\n")
    assert not matches("a1.tsv", "a[1].tsv")
    (folder / "a[1].tsv").unlink()
    assert matches("a1.tsv", "a[1].tsv")


def test_names_that_are_not_utf8():
    assert is_utf8(Path("caf\N{LATIN SMALL LETTER E WITH ACUTE}.tsv"))
    assert not is_utf8(os.fsdecode(b"caf\xe9.tsv"))


def test_a_link_that_leads_to_itself(folder):
    (folder / "loop").symlink_to("loop")
    assert not same_file("loop", "edges.tsv")
    assert same_file("loop", "file:./loop")
    assert is_within("loop/edges.tsv", ".")
    assert not matches("loop", "*.csv")
