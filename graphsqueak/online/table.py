"""Progressive validation over a table of any size: predict, pay, learn, batch after batch.

A table (.csv, .tsv or .parquet) is read in batches and never held. The first batch decides what the
target is, numbers or classes, and the scale: features, and targets that are numbers, are
standardized by its means and deviations, and later rows by the same. Predictions are written in the
units of the table, and each was made before its row was learnt from.

A checkpoint holds the learner and the sums so far, as they were between two batches. Predictions
lie beside it (`run.ckpt.predictions`: a line that names the format, then eight bytes per row,
numbers or numbers of classes). Going on reads the rows before it again, to see that they are the
same, and learns from those after it.
"""

import time
import warnings
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter, SavingWarning
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.sources.table_files import table_batches, table_writer
from graphsqueak.system.atomic import (
    atomic_file,
    check_outputs,
    hold_signals,
    is_file,
    resumable_from,
)
from graphsqueak.system.packing import pack_state, unpack_state
from graphsqueak.system.paths import local_path
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.remote import open_bytes
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["TableRun", "is_predictions", "learn_table", "predictions_of"]

_BATCH = 4096
_FEW = 20  # whole numbers of which there are no more are classes
_CLIP = 3.0  # of margins, and of standardized targets where a learner needs a bound
_FARTHEST = 10.0  # deviations; later rows may be anything
_FORMAT = "graphsqueak learn 1"
_PREDICTIONS = b"graphsqueak predictions\n"  # the first line of the file of predictions


class TableRun(NamedTuple):
    """What happened in `learn_table`.

    `loss` is the mean squared error in the units of the target, or the share of wrong labels, of
    predictions made before their rows were learnt from; `guess` that of the best constant.
    """

    task: str
    n_rows: int
    n_features: int
    loss: float
    guess: float
    n_support: int
    seconds: float


def learn_table(
    learner: OnlineLearner,
    path: str | Path,
    *,
    target: str,
    task: str = "auto",
    features: list[str] | None = None,
    classes: list[str] | None = None,
    out: str | Path | None = None,
    batch_size: int = _BATCH,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 60.0,
    resume: bool = False,
    progress: Progress = False,
) -> TableRun:
    """Run a learner over the rows of a file, once, and tell how well it predicted.

    Parameters
    ----------
    learner : OnlineLearner
        A fresh one, whose loss fits the task, or "squared", which becomes "squared_hinge" with
        clip 3 for classes. Numbers are standardized, and predictions of them not bounded.
    path : str or Path
        .csv, .tsv or .parquet, with named columns.
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto": numbers are regression, unless they are whole and at most twenty.
    features : list of str, optional
        The columns to predict from; default: all others, which must be numbers then.
    classes : list of str, optional
        All labels, if the first batch need not have all.
    out : str or Path, optional
        A table of predictions, one for each row: .csv, .tsv or .parquet.
    batch_size : int
        Rows at a time; the first so many decide scale, task and classes.
    checkpoint : str or Path, optional
        Save the state in this file every `checkpoint_interval` seconds, at the end, and when the
        run is stopped.
    checkpoint_interval : float
        Seconds between two checkpoints.
    resume : bool
        Go on from the checkpoint, if it is there: to the same bytes as in one go.
    progress : bool or callable
        A bar, or a function called as progress(done, fraction, note).

    Returns
    -------
    TableRun

    Examples
    --------
    >>> from graphsqueak.online import CONKONS
    >>> rows = "".join(f"{t % 7},{(t % 7) ** 2}\\n" for t in range(700))
    >>> written = Path("squares.csv").write_text("x,y\\n" + rows)
    >>> run = learn_table(CONKONS(n_components=20, random_state=7), "squares.csv", target="y")
    >>> run.task, run.n_rows, run.loss < 0.1 * run.guess
    ('classification', 700, True)
    """
    check_choice("task", task, ("auto", "regression", "classification"))
    size = check_count("batch_size", batch_size)
    check_real("checkpoint_interval", checkpoint_interval, least=0.0)
    if resume and checkpoint is None:
        raise InputError("resume needs a checkpoint to go on from; give ", Parameter("checkpoint"))
    outputs = {"out": out, "checkpoint": checkpoint}
    if out is not None and checkpoint is not None:
        outputs["list of predictions"] = predictions_of(checkpoint)
    check_outputs({name: given for name, given in outputs.items() if given is not None}, [path])
    given = {"batch_size": size, "target": target, "task": task, "learner": repr(learner)}
    given |= {"features": features, "classes": classes}
    saved = _Saved(checkpoint, given, checkpoint_interval, keeps=out is not None)
    began, state = time.perf_counter(), saved.open() if resume else None
    with ExitStack() as stack:
        stack.enter_context(resumable_from(checkpoint))
        report = stack.enter_context(reporter(progress, type(learner).__name__, unit="rows"))
        write = None if out is None else stack.enter_context(table_writer(out))
        stack.enter_context(saved)
        n_read, check, n_before = 0, 0, 0 if state is None else state.n_rows
        for frame, fraction in table_batches(local_path(path), size):
            if state is None:
                state = _Columns(frame, path, target, features, task, classes).begin(learner)
            check = state.checksum(frame, check)
            n_read += len(frame)
            if n_read <= n_before:
                predicted = state.decode(saved.earlier(len(frame))) if write is not None else None
                if n_read == n_before and check != state.check:
                    raise InputError(f"{path} is not the table that {checkpoint} has seen")
            else:
                with hold_signals():
                    predicted, state.check = state.learn(frame), check
                    saved.note(state, predicted)
            if write is not None:
                write(predicted)
            report(n_read, fraction, f"{state.learner.n_support_} points kept")
        if n_read < n_before:
            raise InputError(f"{checkpoint} has seen {n_before:,} rows, {path} has {n_read:,}")
    if state is None:
        raise InputError(f"{path} has no rows to learn from")
    return state.summary(time.perf_counter() - began)


def predictions_of(checkpoint):
    """The path of the predictions so far, next to the checkpoint of a run."""
    return f"{checkpoint}.predictions"


def is_predictions(path):
    """Whether a file holds the predictions of a run so far, or nothing.

    >>> is_predictions("missing.ckpt.predictions")
    False
    """
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        return file.read(len(_PREDICTIONS)) in (_PREDICTIONS, b"")


class _Saved:
    """The checkpoint of a run, and its predictions beside it, if there are to be any."""

    def __init__(self, path, given, checkpoint_interval, *, keeps):
        self.path = None if path is None else local_path(path)
        self.given = {"format": _FORMAT, **given}
        self.checkpoint_interval = checkpoint_interval
        self.keeps = keeps
        self.state, self._file, self._last, self._n_rows = None, None, time.monotonic(), 0

    def open(self):
        """The state to go on from; None: there is nothing yet."""
        if not self.path.is_file():
            return None
        given, state = unpack_state(self.path.read_bytes(), self.path)
        odd = [name for name in self.given if given.get(name) != self.given[name]]
        if odd or not isinstance(state, _Columns):
            raise InputError(
                f"{self.path} is of a run with another {odd[0] if odd else 'format'}; give that, "
                "or begin anew without resume"
            )
        self._n_rows = state.n_rows
        return state

    def __enter__(self):
        if self.path is None or not self.keeps:
            return self
        beside = local_path(predictions_of(self.path))
        if beside.exists() and not is_predictions(beside):
            raise InputError(
                f"{beside} already exists and does not hold predictions of a run; rename it, or "
                "choose another checkpoint"
            )
        if not self._n_rows:
            self._file = open(beside, "w+b")
            self._file.write(_PREDICTIONS)
            return self
        n_bytes = len(_PREDICTIONS) + 8 * self._n_rows
        if not beside.exists() or beside.stat().st_size < n_bytes:
            raise InputError(f"{beside} lacks predictions; resume without out, or start again")
        self._file = open(beside, "r+b")
        self._file.seek(len(_PREDICTIONS))
        return self

    def earlier(self, count):
        """Predictions of the rows that were learnt from before, in order."""
        return np.frombuffer(self._file.read(8 * count))

    def note(self, state, predicted):
        """Take down a batch, and save if it is time."""
        self.state = state
        if self._file is not None:
            self._file.write(state.encode(predicted).tobytes())
        if self.path is not None and time.monotonic() - self._last > self.checkpoint_interval:
            self._save()

    def _save(self):
        """A full disk must not end the run: the last checkpoint is still whole."""
        try:
            if self._file is not None:
                self._file.flush()
            with atomic_file(self.path) as file:
                pack_state(file, self.given, self.state)
        except (InputError, OSError) as error:
            warnings.warn(SavingWarning("no checkpoint: ", error), stacklevel=2)
        self._last, self._n_rows = time.monotonic(), self.state.n_rows

    def __exit__(self, *_):
        if self.path is not None and self.state is not None and self.state.n_rows > self._n_rows:
            with hold_signals():
                self._save()
        if self._file is not None:
            self._file.close()


class _Columns:
    """Which columns a table has, how they are scaled, and the sums of a run."""

    def __init__(self, frame, path, target, features, task, classes):
        self.path, self.target = str(path), target
        for name in [target, *(features or [])]:
            if name not in frame.columns:
                raise InputError(
                    f"{path} has no column {name!r}; its columns are {', '.join(frame.columns)}"
                )
        self.features = features or [name for name in frame.columns if name != target]
        if not self.features:
            raise InputError(
                f"{path} has the column {target!r} only; there is nothing to learn from"
            )
        self.n_rows = self.check = 0
        X, y = self._matrix(frame), frame[target]
        self.task = _task_of(y) if task == "auto" else task
        self.center, spread = X.mean(axis=0), X.std(axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)
        if self.task == "classification":
            found = y.cast(str).unique().to_list() if classes is None else classes
            self.classes = np.array(sorted(found))
            self.counts = np.zeros(len(self.classes))
        else:
            numbers = self._numbers(y)
            self.middle, self.unit = numbers.mean(), max(numbers.std(), 1e-300)
        self.sums = np.zeros(3)  # of losses, of targets, of their squares

    def begin(self, learner):
        """Make the learner fit the task."""
        law = learner._loss()
        if self.task == "classification" and not law.is_classification:
            learner = learner.set_params(loss="squared_hinge", clip=_CLIP)
        elif self.task == "regression":
            if law.is_classification:
                raise InputError(
                    Parameter("loss", law.name), f" is for labels; {self.target!r} has numbers"
                )
            learner = learner.set_params(clip=None if law.name == "squared" else _CLIP)
        self.learner = learner
        return self

    def learn(self, frame):
        """Predictions for the rows of a batch, before each was learnt from."""
        X = np.clip((self._matrix(frame) - self.center) / self.spread, -_FARTHEST, _FARTHEST)
        if self.task == "classification":
            return self._learn_labels(X, frame[self.target])
        y = self._numbers(frame[self.target])
        scores = self.learner.predict_then_learn(X, (y - self.middle) / self.unit)
        predicted = self.middle + self.unit * scores
        self.n_rows += len(y)
        self.sums += np.sum((predicted - y) ** 2), np.sum(y), np.sum(y**2)
        return predicted

    def checksum(self, frame, before):
        """Of all rows so far, from that of the rows before a batch."""
        words = "\n".join(str(value) for value in frame[self.target].to_list())
        return zlib.crc32(words.encode(), zlib.crc32(self._matrix(frame).tobytes(), before))

    def encode(self, predicted):
        """Predictions as numbers."""
        is_label = self.task == "classification"
        return np.searchsorted(self.classes, predicted) * 1.0 if is_label else predicted

    def decode(self, numbers):
        """Predictions from numbers."""
        is_label = self.task == "classification"
        return self.classes[numbers.astype(np.int64)] if is_label else numbers

    def _learn_labels(self, X, column):
        y = column.cast(str).to_numpy()
        known = np.isin(y, self.classes)
        if not known.all():
            row = int(np.argmin(known))
            raise InputError(
                f"{self.path}: label {y[row]!r} in row {self.n_rows + row + 1} is none "
                "of the first batch; name all of them: ",
                Parameter("classes", ",".join([*self.classes, y[row]])),
            )
        scores = self.learner.predict_then_learn(X, y, classes=self.classes)
        predicted = self.learner._labels(scores)
        self.counts += np.sum(y[:, None] == self.classes, axis=0)
        self.sums[0] += np.sum(predicted != y)
        self.n_rows += len(y)
        return predicted

    def _matrix(self, frame):
        for name in self.features:
            if name not in frame.columns:
                raise InputError(f"{self.path}: column {name!r} is missing after row {self.n_rows}")
        return np.column_stack([self._numbers(frame[name]) for name in self.features])

    def _numbers(self, column):
        if not (column.dtype.is_numeric() or column.dtype == bool):
            raise InputError(
                f"{self.path}: column {column.name!r} holds {column.dtype}, not numbers; leave it "
                "out by naming the features"
            )
        values = column.to_numpy().astype(np.float64)
        if not np.isfinite(values).all():
            row = self.n_rows + int(np.argmin(np.isfinite(values))) + 1
            raise InputError(
                f"{self.path}: column {column.name!r} is empty or infinite in row {row} of the "
                "data; fill it or drop the row"
            )
        return values

    def summary(self, seconds):
        loss, total, squares = self.sums / self.n_rows
        if self.task == "classification":
            guess = 1 - self.counts.max() / self.n_rows
        else:
            guess = squares - total**2
        sizes = self.n_rows, len(self.features)
        kept = self.learner.n_support_
        return TableRun(self.task, *sizes, float(loss), float(guess), kept, seconds)


def _task_of(column):
    if not column.dtype.is_numeric():
        return "classification"
    values = column.drop_nulls().unique()
    few = len(values) <= _FEW and not column.dtype.is_float()
    return "classification" if few else "regression"
