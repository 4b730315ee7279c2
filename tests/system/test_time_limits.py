"""Services that accept a connection and then stop answering are given up, with a message."""

import contextlib
import pickle
import socket
import threading
import time

import pytest

import graphsqueak as gs
from graphsqueak import InputError
from graphsqueak.cli import run
from graphsqueak.system.remote import RemoteFile, exists, read_bytes
from graphsqueak.system.time_limits import (
    TIMEOUT_VARIABLE,
    call_within,
    timeout_seconds,
)

fsspec = pytest.importorskip("fsspec")
EDGES = b"1 2\n2 3\n" * 1000
NO_ANSWER = f"no answer within 0.3 s ({TIMEOUT_VARIABLE} sets another limit)"
ENOUGH_SECONDS = 30  # an unlimited wait takes for ever


class StalledFileSystem(fsspec.get_filesystem_class("memory")):
    """A file system in memory that stops answering in the step `stalls_in`."""

    protocol = "stalled"
    cachable = False
    stalls_in = "nothing"

    def info(self, path, **options):
        self._stall("info")
        return {"name": path, "size": len(EDGES), "type": "file"}

    def exists(self, path, **options):
        self._stall("exists")
        return True

    def isdir(self, path):
        return False

    def isfile(self, path):
        return True

    def glob(self, path, **options):
        self._stall("glob")
        is_log = "_delta_log" in path or "metadata" in path or ".hoodie" in path
        return [] if is_log else [path.replace("*", "edges.tsv")]

    def _open(self, path, mode="rb", **options):
        self._stall("open")
        return StalledFile(self)

    def open(self, path, mode="rb", **options):
        return self._open(path, mode)

    def _stall(self, step):
        if type(self).stalls_in == step:
            threading.Event().wait(ENOUGH_SECONDS)


class StalledFile:
    def __init__(self, system):
        self._system, self._position = system, 0

    def read(self, size=-1):
        if self._position >= 4096:
            self._system._stall("read")
        stop = len(EDGES) if size < 0 else min(self._position + size, 4096 * (1 + self._position))
        data = EDGES[self._position : stop]
        self._position += len(data)
        return data

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        self._position = offset
        return offset

    def tell(self):
        return self._position

    def close(self):
        pass


@pytest.fixture
def stalled(monkeypatch):
    fsspec.register_implementation("stalled", StalledFileSystem, clobber=True)
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.3")
    yield StalledFileSystem
    StalledFileSystem.stalls_in = "nothing"


@pytest.mark.parametrize("step", ["exists", "info", "open", "read"])
def test_a_file_system_that_stops_answering_is_given_up(stalled, step):
    stalled.stalls_in = step
    began = time.perf_counter()
    with pytest.raises(InputError) as caught:
        gs.read_edges("stalled://bucket/edges.tsv").to_edge_list()
    assert time.perf_counter() - began < ENOUGH_SECONDS / 2
    assert NO_ANSWER in str(caught.value)
    assert "stalled://bucket/edges.tsv" in str(caught.value)


def test_a_glob_and_a_checkpoint_that_stall_are_given_up(stalled):
    stalled.stalls_in = "glob"
    with pytest.raises(InputError, match="no answer within"):
        gs.read_edges("stalled://bucket/*")
    stalled.stalls_in = "exists"
    with pytest.raises(InputError, match="no answer within"):
        exists("stalled://bucket/run.ckpt")


def test_a_file_system_that_answers_is_read(stalled):
    graph = gs.read_edges("stalled://bucket/edges.tsv").to_edge_list()
    assert graph.n_edges == 2000
    assert read_bytes("stalled://bucket/edges.tsv") == EDGES


def test_a_stall_is_one_line_and_exit_code_two(stalled, capsys):
    stalled.stalls_in = "read"
    assert run(["info", "stalled://bucket/edges.tsv"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert NO_ANSWER in said[-1]


def test_file_systems_are_sent_to_workers():
    file = RemoteFile("memory://nowhere", fsspec.filesystem("memory"), "/nowhere")
    copy = pickle.loads(pickle.dumps(file))  # noqa: S301 - our own bytes
    assert not copy.call("exists")


def test_errors_of_a_call_are_raised_as_they_are():
    with pytest.raises(ZeroDivisionError):
        call_within(60, divmod, 1, 0)


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan"])
def test_a_limit_that_is_not_a_time_is_refused(monkeypatch, value):
    monkeypatch.setenv(TIMEOUT_VARIABLE, value)
    with pytest.raises(InputError, match=f"{TIMEOUT_VARIABLE}='{value}' is not a positive number"):
        timeout_seconds()


def test_the_limit_is_sixty_seconds_unless_set(monkeypatch):
    monkeypatch.delenv(TIMEOUT_VARIABLE, raising=False)
    assert timeout_seconds() == 60
    monkeypatch.setenv(TIMEOUT_VARIABLE, "inf")
    assert call_within(timeout_seconds(), int, "7") == 7


@contextlib.contextmanager
def silent_server(answer=b""):
    """A port that accepts connections, sends `answer` to each and then nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    accepted.append(connection)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
        for connection in accepted:
            connection.close()


HEADERS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n"
    b"Accept-Ranges: bytes\r\n\r\n"
)


@pytest.mark.parametrize("answer", [b"", HEADERS, HEADERS + b"1 2\n"])
def test_a_web_server_that_stops_answering_is_given_up(monkeypatch, answer):
    pytest.importorskip("aiohttp")
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.5")
    with (
        silent_server(answer) as port,
        pytest.raises(InputError, match=r"127\.0\.0\.1.*no answer within 0.5 s"),
    ):
        gs.read_edges(f"http://127.0.0.1:{port}/edges.tsv").to_edge_list()


def test_a_file_server_that_stops_answering_is_given_up(monkeypatch, capsys):
    """This file system connects when it is made."""
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.5")
    with silent_server() as port:
        assert run(["info", f"ftp://127.0.0.1:{port}/edges.tsv"]) == 2
    assert "no answer within 0.5 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["zip://a.tsv::edges.tsv", "zip://a.tsv::missing.zip", "reference://a.tsv"]
)
def test_a_file_system_that_cannot_be_opened(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_bytes(EDGES)
    for words in (["info", address], ["sparsify", "edges.tsv", "--keep", "0.5", "-o", address]):
        assert run(words) == 2
        said = capsys.readouterr().err
        assert said.startswith("graphsqueak: ")
        assert said.count("\n") == 1


def test_a_scheduler_that_stops_answering_is_given_up(monkeypatch, tmp_path, capsys):
    pytest.importorskip("distributed")
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.5")
    (tmp_path / "edges.tsv").write_bytes(EDGES)
    with silent_server() as port:
        address = f"tcp://127.0.0.1:{port}"
        command = ["sparsify", str(tmp_path / "edges.tsv"), "--keep", "0.5", "--scheduler", address]
        assert run([*command, "-o", str(tmp_path / "out.tsv")]) == 2
    said = capsys.readouterr().err
    assert f"no Dask scheduler answers at {address} (no answer within 0.5 s" in said
    assert not (tmp_path / "out.tsv").exists()
