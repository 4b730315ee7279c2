"""Texts that users read: inferred schemas, error messages, options and output of commands.

These stages return values that JSON can hold, recorded as `<stage>.json` so that a diff shows what
changed.
"""

import contextlib
import gzip
import io
import json
import os
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import typer

import graphsqueak as gs
from graphsqueak.cli import app, run
from graphsqueak.errors import InputError
from tests.golden.graphs import block_graph, points_in_clusters
from tests.golden.text_schemas import CASES

__all__ = ["TEXT_STAGES"]

# What differs from run to run or from machine to machine.
MEASURED = re.compile(r"second|^time$|rss|memory|bytes")

# Lines that slow runs print, for example while kernels are compiled.
PROGRESS = re.compile(
    r"^graphsqueak: .*( \.\.\.|: compiling, once on this machine.*|/s(, .*)?)\n", re.MULTILINE
)
LONG_FLOAT = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|-?\d+\.\d{4,}(?:e[+-]?\d+)?")


@contextlib.contextmanager
def inside_new_folder():
    """A temporary folder as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def rounded(value):
    """Floats with six digits, and without what was measured."""
    if isinstance(value, dict):
        return {
            key: rounded(entry) for key, entry in value.items() if not MEASURED.search(str(key))
        }
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value


def rounded_text(text):
    """Lines of a text in which floats have six digits, and durations and sizes are masked."""
    lines = []
    for line in text.splitlines():
        masked = re.sub(r"\d[\d.,]* (?=s\b|ms\b|[KMG]i?B\b)", "N ", line)
        masked = re.sub(r"(?<=seconds)\s+[\d.]+", " N", masked)
        if masked != line or "memory" in line:
            # The width of a column depends on the numbers in it.
            masked = " ".join(masked.split())
        lines.append(LONG_FLOAT.sub(shortened, masked))
    return lines


def shortened(found):
    """A number as it was matched, with six digits unless commas group its digits."""
    return found[0] if "," in found[0] else f"{float(found[0]):.6g}"


def edges_in_words(edges):
    """One line per edge: ends, weight and time."""
    ids = edges.ids.tolist()
    rows = zip(edges.tail.tolist(), edges.head.tolist(), edges.weight.tolist(), strict=True)
    lines = [f"{ids[tail]!r} {ids[head]!r} {weight:.6g}" for tail, head, weight in rows]
    if (time := getattr(edges, "time", None)) is not None:
        lines = [f"{line} at {at:.12g}" for line, at in zip(lines, time.tolist(), strict=True)]
    return lines


def read_schema(content, options):
    """What is inferred about one file, or the message with which it is refused."""
    data = content if isinstance(content, bytes) else content.encode()
    Path("edges.txt").write_bytes(data)
    record = {"text": data.decode("utf-8", "backslashreplace"), "options": options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            source = gs.read_edges("edges.txt", **options)
            batches = list(source)
            edges = source.to_edge_list() if "time" not in options else batches[0]
            record["edges"] = edges_in_words(edges)
            record["inferred"] = rounded(
                {key: value for key, value in source.inferred_schema.items() if key != "name"}
            )
        except InputError as error:
            record["error"] = str(error)
    if caught:
        record["warnings"] = [str(warning.message) for warning in caught]
    return json.loads(json.dumps(record, default=str))


def text_schemas():
    """What the reader infers about each of the text files, or its error message."""
    with inside_new_folder():
        return {name: read_schema(content, options) for name, (content, options) in CASES.items()}


def read_parts(path, **options):
    """What is inferred about several files, or the message with which they are refused."""
    try:
        source = gs.read_edges(path, **options)
        edges = edges_in_words(source.to_edge_list())
        return {"edges": edges, "inferred": rounded(source.inferred_schema)}
    except InputError as error:
        return {"error": str(error)}


def file_parts():
    """Folders, globs, lists of files, compressed files and tables."""
    with inside_new_folder() as folder:
        contents = {
            "plain/a.csv": "1,2\n2,3\n",
            "plain/b.csv": "3,4\n",
            "plain/_SUCCESS": "",
            "plain/.hidden.csv": "9,9\n",
            "plain/readme.md": "about these files\n",
            "headers/a.csv": "source,target,weight\n1,2,0.5\n",
            "headers/b.csv": "source,target,weight\n2,3,1.5\n",
            "first_header/a.csv": "source,target\n1,2\n",
            "first_header/b.csv": "2,3\n",
            "mixed_ids/a.csv": "1,2\n",
            "mixed_ids/b.csv": "ann,bob\n",
            "other_columns/a.csv": "1,2\n2,3\n",
            "other_columns/b.csv": "1,2,3\n2,3,4\n",
            "formats/a.csv": "1,2\n",
            "nested/day=1/a.csv": "1,2\n",
            "nested/day=2/a.csv": "2,3\n",
        }
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        (folder / "empty").mkdir()
        (folder / "plain.csv.gz").write_bytes(gzip.compress(b"1,2\n2,3\n", mtime=0))
        (folder / "cut.csv.gz").write_bytes(gzip.compress(b"1,2\n2,3\n" * 50, mtime=0)[:-12])
        pl.DataFrame({"source": [1], "target": [2]}).write_parquet(folder / "formats/b.parquet")
        tables = {
            "named": pl.DataFrame({"src": [1, 2], "dst": [2, 3], "weight": [0.5, 2.0]}),
            "unnamed": pl.DataFrame({"x": [1, 2], "y": [2, 3]}),
            "four": pl.DataFrame({"id": [7, 8], "user": [1, 2], "friend": [2, 3], "n": [1, 1]}),
            "text": pl.DataFrame({"from": ["a", "b"], "to": ["b", "c"]}),
            "null": pl.DataFrame({"from": ["a", None], "to": ["b", "c"]}),
            "one": pl.DataFrame({"from": [1, 2]}),
        }
        found = {
            path: read_parts(path)
            for path in (
                *("plain", "plain/*.csv", "headers", "first_header", "mixed_ids", "other_columns"),
                *("formats", "nested", "empty", "missing", "missing/*.csv", "plain/[ab].csv"),
                *("plain.csv.gz", "cut.csv.gz"),
            )
        }
        found["list"] = read_parts(["plain/b.csv", "plain/a.csv"])
        found["pipe"] = read_parts(io.BytesIO(b"1,2\n2,3\n"))
        for name, frame in tables.items():
            found[f"table {name}"] = read_parts(frame)
            frame.write_parquet(f"{name}.parquet")
            found[f"{name}.parquet"] = read_parts(f"{name}.parquet")
    return found


def mail_words():
    """Words and stems of texts, and the mails of a folder and of a file."""
    texts = (
        "I am the 42nd_winner, ÉTÉ!! $1,000,000 free",
        "running runners ran; ties, falling, troubled conflated glasses",
        "you win!! visit http://example.com/a?b=1 now...",
    )
    page = (
        "<html><head><style>p {color: red}</style></head><body><p>Buy&nbsp;now</p>"
        "<!-- hidden --><span style='display:none'>secret</span><br>caf&eacute; &#8364;9"
        "</body></html>"
    )
    messages = {
        "plain.eml": (
            "From: Ann <ann@example.com>\nSubject: =?utf-8?q?caf=C3=A9?=\n\nsee you at noon\n"
        ),
        "html.eml": (
            "From: shop@example.org\nSubject: offer\nMIME-Version: 1.0\n"
            f"Content-Type: text/html; charset=utf-8\n\n{page}\n"
        ),
        "parts.eml": (
            'Subject: two\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n'
            "--x\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQ=\n"
            "--x\nContent-Type: image/png\n\nabc\n--x--\n"
        ),
        "broken.eml": "no headers at all, just text\n",
    }
    with inside_new_folder() as folder:
        (folder / "inbox").mkdir()
        for name, message in messages.items():
            (folder / "inbox" / name).write_text(message, encoding="utf-8")
        (folder / "sms").write_text("ham\tsee you\nspam\tWIN! £1,000\nham\tsee you\n")
        corpora = {}
        plain = messages["plain.eml"]
        (folder / "box.mbox").write_text(f"From ann Thu Jan  1 00:00:00 2026\n{plain}\n" * 2)
        (folder / "mails.csv").write_text('id,text,label\na,"see, you",ham\nb,win money,spam\n')
        for part in ("Maildir/cur", "Maildir/new", "Maildir/tmp", "corpus/spam_1", "corpus/ham_1"):
            (folder / part).mkdir(parents=True)
            (folder / part / "mail").write_text(plain.replace("noon", part))
        for path, settings in (
            ("inbox", {}),
            ("sms", {}),
            ("sms", {"deduplicate": True}),
            ("box.mbox", {}),
            ("mails.csv", {}),
            ("Maildir", {}),
            ("corpus", {}),
        ):
            source = gs.mail.read_mail(path, **settings)
            mails = [mail._asdict() for mail in source]
            corpora[f"{path} {settings}"] = {"mails": mails, "counts": source.counts}
    vocabularies = {}
    for name, settings in (
        ("stems", {"punctuation": False}),
        ("words", {"stemming": False, "punctuation": False}),
        ("words and punctuation", {"stemming": False}),
    ):
        for text in texts:
            _, words = gs.mail.text_points([text], **settings)
            vocabularies[f"{name}: {text}"] = words.tolist()
    return {"vocabularies": vocabularies, "corpora": corpora}


def command_options():
    """Names, defaults and choices of the options of every command."""
    found = {}
    for name, command in sorted(typer.main.get_command(app).commands.items()):
        found[name] = {}
        for parameter in command.params:
            flags = " ".join([*parameter.opts, *parameter.secondary_opts])
            default = parameter.default if not callable(parameter.default) else "computed"
            found[name][flags] = {
                "default": str(default),
                "required": parameter.required,
                "is_flag": getattr(parameter, "is_flag", False),
                "metavar": parameter.metavar,
            }
    return found


def write_inputs(folder):
    """The files that the commands below read."""
    graph, truth = block_graph([40, 30], n_edges=900, within=0.8, seed=131)
    gs.write_edges(graph, folder / "edges.tsv")
    labelled = {0: 0, 1: 0, 2: 0}
    for number in (0, 1):
        for node in np.flatnonzero(truth == number)[:6].tolist():
            labelled[node] = number
    rows = [f"{v},{'ab'[labelled[v]] if v in labelled else ''},{'ab'[truth[v]]}" for v in range(70)]
    (folder / "labels.csv").write_text("node,label,truth\n" + "\n".join(rows) + "\n")
    time = np.sort(np.random.default_rng(132).integers(0, 1000, size=graph.n_edges)).tolist()
    lines = zip(graph.tail.tolist(), graph.head.tolist(), time, strict=True)
    (folder / "timed.csv").write_text("source,target,when\n" + "".join(
        f"{tail},{head},{at}\n" for tail, head, at in lines))  # fmt: skip
    points, cluster = points_in_clusters(90, 3, seed=133)
    np.save(folder / "points.npy", points)
    rows = [f"{a!r},{b!r},{c!r},{'xyzuv'[k]},{(a + b) * 3!r}" for (a, b, c), k in zip(
        points.tolist(), cluster.tolist(), strict=True)]  # fmt: skip
    (folder / "table.csv").write_text("a,b,c,kind,price\n" + "\n".join(rows) + "\n")
    mails = [f"{'cheap pills win' if k % 3 else 'lunch at noon'} {k} offer" for k in range(30)]
    (folder / "mails.csv").write_text("text\n" + "\n".join(mails) + "\n")
    (folder / "known.csv").write_text("node,label\n1,ham\n2,spam\n3,spam\n4,ham\n")
    (folder / "pairs.csv").write_text("0,1\n5,60\n10,20\n")
    (folder / "devices.csv").write_text(
        "account,device\n" + "".join(f"u{k % 17},d{k * k % 11}\n" for k in range(60))
    )


COMMANDS = (
    "info edges.tsv",
    "info edges.tsv --json",
    "info devices.csv --project --json",
    "info missing.tsv",
    "info timed.csv",
    "sparsify edges.tsv -o sparse.tsv --n-edges 300 --seed 1 --json",
    "sparsify edges.tsv -o sparse.tsv --n-edges 300 --seed 1",
    "sparsify edges.tsv -o sparse2.tsv --keep 50% --seed 1 --certify --json",
    "sparsify timed.csv -o recent.tsv --time when --columns source,target --window 300"
    " --n-edges 200 --seed 1 --json",
    "sparsify edges.tsv -o no.tsv --keep 2",
    "sparsify edges.tsv -o saved.tsv --n-edges 300 --seed 1 --checkpoint run.ckpt --quiet",
    "info run.ckpt",
    "merge run.ckpt run.ckpt -o merged.tsv --seed 1 --json",
    "sparsify edges.tsv -o no.tsv --keep 0.5 --dry-run",
    "sparsify devices.csv --project -o projected.tsv --n-edges 60 --seed 1 --json",
    "certify edges.tsv sparse.tsv --seed 1 --json",
    "resistance edges.tsv -o resistance.csv --seed 1 --json",
    "resistance edges.tsv -o pairs.out.csv --node-pairs pairs.csv --seed 1 --json",
    "resistance edges.tsv -o bounds.csv --node-pairs pairs.csv --n-edges 300 --bounds --seed 1"
    " --json",
    "label edges.tsv labels.csv -o sparse-hfs.csv --seed 1 --json",
    "label edges.tsv labels.csv -o kept.csv --n-edges 300 --max-passes 1 --per-class --seed 1"
    " --json",
    "label edges.tsv labels.csv -o sets.csv --method in-memory --prediction-sets 0.2 --seed 1"
    " --json",
    "label edges.tsv labels.csv -o positive.csv --positive-class b --top 5 --seed 1 --json",
    "label edges.tsv labels.csv -o simple.csv --baseline simple-hfs --seed 1",
    "label edges.tsv labels.csv -o no.csv --method magic",
    "neighbors points.npy -k 4 -o neighbors.csv --seed 1 --json",
    "neighbors points.npy -k 4 -o gaussian.csv --metric euclidean --weight gaussian --seed 1"
    " --json",
    "dictionary points.npy -m 12 -o squeak.csv --seed 1 --json",
    "dictionary points.npy -m 12 -o cholesky.csv --method rp-cholesky --seed 1 --json",
    "learn table.csv --target price -o price.csv --features a,b,c -m 15 --seed 1 --json",
    "learn table.csv --target kind -o kind.csv --features a,b,c -m 15 --seed 1 --json",
    "learn table.csv --target price --learner fogd --features a,b -m 15 --seed 1",
    "learn table.csv --target size",
    "spam mails.csv --labels known.csv --seed 1 --json -o spam.csv",
)


def command_outputs():
    """Exit code, printed text and first lines of the output of commands."""
    found = {}
    with inside_new_folder() as folder:
        write_inputs(folder)
        for line in COMMANDS:
            found[line] = run_command(line.split())
    return found


def run_command(arguments):
    """Run one command in the current folder."""
    out = io.StringIO()
    err = io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always", UserWarning)
        code = run(arguments)
    printed = PROGRESS.sub("", err.getvalue())
    record = {"code": code, "stderr": rounded_text(printed)}
    if "--json" in arguments and code == 0:
        record["json"] = rounded(json.loads(out.getvalue()))
    else:
        record["stdout"] = rounded_text(out.getvalue())
    path = Path(arguments[arguments.index("-o") + 1]) if "-o" in arguments else None
    if path is not None and path.exists():
        lines = rounded_text(path.read_text())
        record["output"] = [f"{len(lines)} lines", *lines[:4], *lines[-2:]]
    return record


def shown_objects():
    """Objects of the library as text."""
    graph, truth = block_graph([40, 30], n_edges=900, within=0.8, seed=134)
    y = np.where(np.arange(70) < 14, truth, -1)
    sparse = gs.sparsify(graph, n_edges=300, random_state=1)
    certificate = gs.certify(graph, sparse, random_state=1)
    model = gs.StableHFSClassifier(random_state=1).fit(graph, y)
    objects = {
        "edge list": repr(graph),
        "sparsifier": repr(sparse),
        "certificate": str(certificate),
        "cut": str(gs.analysis.cut(graph, random_state=1)),
        "clusters": str(gs.analysis.spectral_clusters(graph, 2, random_state=1)),
        "ranking": str(gs.analysis.rank(graph, random_state=1)),
        "comparison": str(gs.compare(graph, sparse, n_samples=10, n_runs=1, random_state=1)),
        "solver": repr(gs.StreamedSolver(graph, n_edges=300, random_state=1)),
        "cut as HTML": gs.analysis.cut(graph, random_state=1)._repr_html_(),
        "features": "\n".join(
            gs.NeighborMeans(hops=2).fit(np.zeros((70, 2))).get_feature_names_out()
        ),
        "bound": repr(model.bound_),
        "label table": model.to_polars().head(5).write_csv(),
    }
    return {name: rounded_text(text) for name, text in objects.items()}


TEXT_STAGES = {
    stage.__name__: stage
    for stage in (
        text_schemas,
        file_parts,
        mail_words,
        command_options,
        command_outputs,
        shown_objects,
    )
}
