"""Atomic files: complete or absent, alone or together, and signals that wait."""

import gzip
import hashlib
import os
import signal

import pytest

from graphsqueak import InputError
from graphsqueak.system.atomic import (
    Stopped,
    atomic_file,
    check_outputs,
    check_writable,
    hold_signals,
    is_note,
    is_replaceable,
    note_of,
    note_written,
    stoppable,
    written_paths,
    written_together,
)


def write(path, content, **options):
    with atomic_file(path, **options) as file:
        file.write(content)


def test_a_failure_keeps_the_old_file_and_leaves_no_partial_one(tmp_path):
    path = tmp_path / "out"
    write(path, b"old")

    def fail():
        with atomic_file(path) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_the_partial_file_of_a_killed_run_is_removed(tmp_path):
    abandoned = tmp_path / ".out.0123abcd.part"
    abandoned.write_bytes(b"half")
    other = tmp_path / ".other.0123abcd.part"
    other.write_bytes(b"half")
    write(tmp_path / "out", b"whole")
    assert not abandoned.exists()
    assert other.exists()


def test_the_partial_file_of_a_run_in_progress_stays(tmp_path):
    path = tmp_path / "out"
    with atomic_file(path) as first:
        first.write(b"first")
        write(path, b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"


def test_files_written_together_appear_together(tmp_path):
    first = tmp_path / "first"
    second = tmp_path / "second"
    with written_together():
        write(first, b"1")
        write(second, b"2")
        assert os.path.exists(first) is os.path.exists(second) is False
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")


def test_no_file_appears_if_a_later_one_fails(tmp_path):
    def fail():
        with written_together():
            write(tmp_path / "first", b"1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert os.listdir(tmp_path) == []


def test_compressed_bytes_depend_on_the_content_only(tmp_path):
    for name in ("first", "second"):
        write(tmp_path / name, b"content", compression="gzip")
    first = (tmp_path / "first").read_bytes()
    assert first == (tmp_path / "second").read_bytes()
    assert gzip.decompress(first) == b"content"


def test_a_note_has_the_format_of_sha256sum(tmp_path):
    output = tmp_path / "out"
    write(output, b"content")
    checkpoint = tmp_path / "run.ckpt"
    note_written(checkpoint, [output, None, tmp_path / "missing"])
    note = note_of(checkpoint)
    assert is_note(note)
    with open(note) as file:
        lines = file.readlines()
    assert lines[1:] == [f"{hashlib.sha256(b'content').hexdigest()}  {output}\n"]


def test_only_unchanged_outputs_of_the_resumed_run_are_replaceable(tmp_path):
    output = tmp_path / "out"
    checkpoint = tmp_path / "run.ckpt"
    assert is_replaceable(output)
    write(output, b"content")
    note_written(checkpoint, [output])
    assert is_replaceable(output, checkpoint)
    assert not is_replaceable(output)
    assert not is_replaceable(output, tmp_path / "other.ckpt")
    output.write_bytes(b"edited")
    assert not is_replaceable(output, checkpoint)


def test_paths_that_cannot_be_written(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InputError, match="is a folder; give the name of a file in it"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match=r"the folder .*none does not exist; create it first"):
        check_writable(tmp_path / "none" / "out")
    with pytest.raises(InputError, match="is a file, not a folder; check the path"):
        check_writable(file / "out")
    check_writable(tmp_path / "out")
    assert os.listdir(tmp_path) == ["file"]


def test_outputs_in_an_input_folder_are_refused(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    with pytest.raises(InputError, match="an input of this run: the next run would read it too"):
        check_outputs({"out": parts / "out.tsv"}, [parts])
    with pytest.raises(InputError, match="an input of this run"):
        check_outputs({"out": parts / "out.tsv"}, [parts / "*.tsv"])
    check_outputs({"out": tmp_path / "out.tsv"}, [parts])


def test_a_signal_waits_until_the_end_of_the_block(tmp_path):
    steps = []

    def work():
        with stoppable():
            with hold_signals():
                os.kill(os.getpid(), signal.SIGTERM)
                steps.append("within")
                write(tmp_path / "out", b"content")
            steps.append("after")

    with pytest.raises(Stopped) as caught:
        work()
    assert steps == ["within"]
    assert caught.value.number == signal.SIGTERM
    assert written_paths() == [str(tmp_path / "out")]


def test_a_second_signal_does_not_wait():
    steps = []

    def work():
        with stoppable(), hold_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("first")
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("second")

    with pytest.raises(Stopped):
        work()
    assert steps == ["first"]
    # The first signal does not stop later work.
    with hold_signals():
        steps.append("later")
