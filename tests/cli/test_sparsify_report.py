"""sparsify --report: one page, whole, offline, escaped, and looked at in a browser."""

import os
import re
import shlex
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from graphsqueak import EdgeList, write_edges
from graphsqueak.cli import run
from graphsqueak.system.memory import readable_size

EVIL = "<script>document.title='owned'</script>"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on a dense graph with a hub whose name is a script."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(650_117)
    pairs = [(f"n{u}", f"n{v}") for u, v in rng.integers(80, size=(3000, 2)) if u != v]
    pairs += [(EVIL, f"n{v}", 3.0) for v in range(80)]
    write_edges(EdgeList.from_pairs(pairs), folder / "edges.tsv")
    arguments = [str(folder / "edges.tsv"), "-o", str(folder / "sparse.tsv"), "--keep", "0.3"]
    where = folder / "report.html"
    assert run(["sparsify", *arguments, "--report", str(where), "--seed", "5", "--quiet"]) == 0
    return where


def test_it_tells_what_was_read_kept_and_certified(page):
    text = page.read_text()
    assert re.findall("<h2>(.*?)</h2>", text) == [
        "Cuts",
        "Degrees",
        "What to do next",
        "Error in detail",
        "Input",
        "Output",
    ]
    assert "<td>81</td>" in text
    assert re.search(r"<td>epsilon_upper</td><td>0\.\d+</td>", text)
    assert text.count('src="data:image/png;base64,') == 4


def test_it_begins_with_a_verdict_and_commands_that_work(page, monkeypatch, capsys):
    text = page.read_text()
    error = float(re.search(r"error ([\d.]+), kappa [\d.,]+ \(measured, exact\)", text)[1])
    strip = dict(re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>', text))
    assert list(strip) == [
        "Verdict",
        "Edges",
        "Memory",
        "Files",
        "Time",
        "Typical error",
        "Worst case",
    ]
    sizes = [(page.parent / name).stat().st_size for name in ("edges.tsv", "sparse.tsv")]
    assert strip["Files"].replace("\xa0", " ") == " → ".join(map(readable_size, sizes))
    assert float(strip["Worst case"].rstrip(" %")) == pytest.approx(100 * error, abs=0.11)
    assert text.index('class="strip"') < text.index("<h2>") < text.index("<p>Typical error: cuts ")
    most = re.search(r"of the graph, and all of them within ([\d.]+) %", text)
    assert 0 < float(most[1]) / 100 <= error
    assert "called x&#x27;Lx" in text
    commands = re.findall(r"<pre>(graphsqueak .*?)</pre>", whole_lines(text), re.DOTALL)
    assert [shlex.split(command)[1] for command in commands] == ["certify"]
    for command in commands:
        assert run(shlex.split(command)[1:]) == 0
    measured = re.search(r"epsilon_upper +([\d.]+)", capsys.readouterr().out)[1]
    assert error - 0.001 <= float(measured) <= error
    code = unescape(re.search(r"<pre>(import graphsqueak.*?)</pre>", text, re.DOTALL)[1])
    names: dict = {}
    exec(code, names)  # noqa: S102
    assert names["G"].number_of_nodes() == 81


def test_numbers_are_written_as_people_do(tmp_path):
    """A total of 1,342,300 is not 1.3423e+06; options of the reader are in the commands."""
    rows = [f"{u},{v},1342.25\n" for u in range(46) for v in range(u)]
    (tmp_path / "edges.csv").write_text("".join(rows))
    where = tmp_path / "report.html"
    arguments = [str(tmp_path / "edges.csv"), "-o", str(tmp_path / "out.tsv"), "--n-edges", "55"]
    reading = ["--no-header", "--weights"]
    more = ["--report", str(where), "--quiet", "--seed", "7"]
    assert run(["sparsify", *arguments, *reading, *more]) == 0
    text = whole_lines(where.read_text())
    assert f"<td>{len(rows) * 1342.25:,.0f}</td>" in text
    assert not re.search(r"\de\+\d", re.sub('src="data:[^"]*"', "", text))
    assert text.count("--no-header --weights") == 2
    assert "closer-out.tsv --epsilon 0.5" in text  # an error above 1 asks for another run


def whole_lines(page):
    """The page with commands that are folded joined to one line again."""
    return re.sub(r" \\\n +", " ", unescape(page))


def test_ids_are_text_and_nothing_is_fetched(page):
    class Parser(HTMLParser):
        def __init__(self):
            super().__init__()
            self.tags, self.targets = set(), []

        def handle_starttag(self, tag, attrs):
            self.tags.add(tag)
            self.targets += [value for name, value in attrs if name in ("src", "href")]

    parser = Parser()
    parser.feed(page.read_text())
    assert "document.title" in page.read_text()  # the hub is among the heaviest nodes
    assert not parser.tags & {"script", "link", "iframe"}
    assert all(target.startswith("data:image/png") for target in parser.targets)


def test_a_pipe_is_reported_without_a_certificate(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = subprocess.Popen(["sh", "-c", f"printf '0 1\\n1 2\\n2 0\\n' > {pipe}"])
    where = tmp_path / "report.html"
    arguments = ["sparsify", str(pipe), "-o", str(tmp_path / "out.tsv"), "--n-edges", "9"]
    assert run([*arguments, "--report", str(where), "--quiet"]) == 0
    assert feeder.wait() == 0
    text = where.read_text()
    assert "Error 0: nothing was dropped, and the output is the whole graph." in text
    assert '<dd class="value">Whole graph</dd>' in text
    assert "came from a pipe and cannot be read again" in text
    assert "graphsqueak certify" not in text
    assert "to measure the error" not in text


def test_without_matplotlib_it_is_refused_before_the_work(tmp_path, monkeypatch, capsys):
    import graphsqueak.cli.output as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    (tmp_path / "edges.tsv").write_text("0 1\n1 2\n")
    out = tmp_path / "out.tsv"
    arguments = ["sparsify", str(tmp_path / "edges.tsv"), "-o", str(out), "--keep", "0.5"]
    assert run([*arguments, "--report", str(tmp_path / "r.html")]) == 2
    assert "pip install 'graphsqueak[plot]'" in capsys.readouterr().err
    assert not out.exists()
    assert run(["demo", "--quick", "--out", str(tmp_path / "demo")]) == 2
    assert not (tmp_path / "demo").exists()


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: apt install chromium)")
def test_a_browser_shows_it(page, tmp_path):
    from matplotlib.image import imread

    shot = tmp_path / "page.png"
    window = ["--window-size=1000,3600", "--hide-scrollbars", f"--screenshot={shot}", "--dump-dom"]
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND"]
    done = subprocess.run(
        [BROWSER, *quiet, *offline, *window, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "owned" not in re.search(r"<title>(.*?)</title>", done.stdout)[1]
    pixels = (imread(shot)[:, :, :3] * 255).round().astype(int)
    blue = np.abs(pixels - (0x44, 0x77, 0xAA)).max(axis=2) <= 2
    rows = np.flatnonzero(blue.sum(axis=1) > 3)
    assert blue.sum() > 10_000  # the bars of the figures
    assert np.count_nonzero(np.diff(rows) > 100) >= 1  # two figures, one below the other
