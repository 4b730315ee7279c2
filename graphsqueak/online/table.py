"""Prequential learning from a table of any size: predict each row, then learn it.

A table (.csv, .tsv or .parquet) is streamed in batches. The first batch determines whether the
target is a number or a class, and the scale: features, and numeric targets, are standardized by its
means and standard deviations, as are all later rows. Predictions are written in the units of the
table; each is made before its row is learned.

A checkpoint contains the learner and the sums of losses after some batch. The predictions so far
are stored next to it, in `run.ckpt.predictions`: a line that names the format, then eight bytes per
row, the prediction or the index of the class. To resume, the rows before the checkpoint are read
again to verify that they have not changed, and learning continues with the rows after it.
"""

import time
import warnings
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter, SavingWarning
from graphsqueak.online.learner import OnlineLearner, decode_scores
from graphsqueak.online.losses import get_loss
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

# A target with more different integers is regression, for task="auto". Part of the documented
# interface: halved or doubled, grades and counts between 10 and 40 values are taken for the other.
MAX_CLASSES = 20
# Bound of the scores of classifiers, and of standardized targets for losses that need a bound. On
# two data sets of 3,000 rows, halved or doubled: error rates 0.6 points lower and 0.3 higher.
CLIP = 3.0
# Standardized features are clipped at this many standard deviations, since the first batch may not
# be representative. On five data sets of 3,000 rows, halved: losses 0 to 12 % smaller; doubled:
# within 2 %.
MAX_DEVIATIONS = 10.0
_FORMAT = "graphsqueak learn 1"
# The first line of the file of predictions.
_PREDICTIONS_HEADER = b"graphsqueak predictions\n"


class TableRun(NamedTuple):
    """The result of `learn_table`.

    Attributes
    ----------
    task : {"regression", "classification"}
    n_rows, n_features : int
    loss : float
        Mean squared error in the units of the target, or fraction of wrong labels, of predictions
        made before their rows were learned.
    constant_loss : float
        The same for the best constant prediction.
    n_support : int
        Number of support points at the end.
    seconds : float
    """

    task: str
    n_rows: int
    n_features: int
    loss: float
    constant_loss: float
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
    batch_size: int = 4096,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 60.0,
    resume: bool = False,
    progress: Progress = False,
) -> TableRun:
    """Run a learner once over the rows of a file and report the loss of its predictions.

    Parameters
    ----------
    learner : OnlineLearner
        Not fitted. Its loss must match the task; "squared" is replaced by "squared_hinge" with
        clip 3 for classification. Numeric targets are standardized, and their predictions not
        clipped.
    path : str or Path
        .csv, .tsv or .parquet, with column names.
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto": regression if the target is numeric, except for at most 20 different integers.
    features : list of str, optional
        The columns to predict from, which must be numeric; default: all other columns.
    classes : list of str, optional
        All labels, if some may be missing from the first batch.
    out : str or Path, optional
        Write a table with one prediction per row: .csv, .tsv or .parquet.
    batch_size : int
        Rows per batch; the first batch determines scale, task and classes.
    checkpoint : str or Path, optional
        Save the state to this file every `checkpoint_interval` seconds, at the end, and when the
        run is stopped.
    checkpoint_interval : float
        In seconds.
    resume : bool
        Continue from the checkpoint, if it exists; the result is the same bit for bit.
    progress : bool or callable
        Show a progress bar, or call a function as progress(done, fraction, note).

    Returns
    -------
    TableRun

    Examples
    --------
    >>> from graphsqueak.online import CONKONS
    >>> rows = "".join(f"{t % 7},{(t % 7) ** 2}\\n" for t in range(700))
    >>> written = Path("squares.csv").write_text("x,y\\n" + rows)
    >>> run = learn_table(CONKONS(n_components=20, random_state=7), "squares.csv", target="y")
    >>> run.task, run.n_rows, run.loss < 0.1 * run.constant_loss
    ('classification', 700, True)
    """
    check_choice("task", task, ("auto", "regression", "classification"))
    batch_size = check_count("batch_size", batch_size)
    check_real("checkpoint_interval", checkpoint_interval, least=0.0)
    if resume and checkpoint is None:
        raise InputError(
            "resume needs a checkpoint to continue from; give ", Parameter("checkpoint")
        )
    _check_paths(path, out, checkpoint)
    # A checkpoint is resumed only with the parameters it was written with.
    random_state = getattr(learner, "random_state", None)
    parameters = {
        "format": _FORMAT,
        "random_state": random_state if isinstance(random_state, int) else None,
        "batch_size": batch_size,
        "target": target,
        "task": task,
        "learner": repr(learner),
        "features": features,
        "classes": classes,
    }
    saved = _Checkpoint(
        checkpoint, parameters, checkpoint_interval, keeps_predictions=out is not None
    )
    started_at = time.perf_counter()
    state = saved.load() if resume else None
    with ExitStack() as stack:
        # Leaving in reverse order: predictions and checkpoint are complete before the output is.
        stack.enter_context(resumable_from(checkpoint))
        report = stack.enter_context(reporter(progress, type(learner).__name__, unit="rows"))
        write = None if out is None else stack.enter_context(table_writer(out))
        stack.enter_context(saved)
        n_read = 0
        for frame, fraction in table_batches(local_path(path), batch_size):
            if state is None:
                state = _TableState(frame, path, target, features, task, classes, learner)
            _learn_batch(state, saved, frame, path, write)
            n_read += len(frame)
            report(n_read, fraction, f"{state.learner.n_support_} points kept")
        if state is not None and n_read < state.n_rows:
            raise InputError(
                f"{checkpoint} was written after {state.n_rows:,} rows, but {path} has "
                f"{n_read:,}; restore the table, or start again without resume"
            )
    if state is None:
        raise InputError(f"{path} has no rows to learn from")
    return state.result(seconds=time.perf_counter() - started_at)


def _learn_batch(state, saved, frame, path, write):
    """Learn the rows that the checkpoint does not contain, and write all predictions."""
    n_replayed = saved.replay(frame, path)
    new_rows = frame[n_replayed:]
    if write is not None and n_replayed:
        write(saved.read_predictions(n_replayed))
    if len(new_rows):
        # A signal must not separate what was learned from what is saved.
        with hold_signals():
            predicted = state.learn(new_rows)
            saved.add(state, predicted)
        if write is not None:
            write(predicted)


def _check_paths(path, out, checkpoint):
    """Raise an error if outputs cannot be written, or are the table."""
    outputs = {"out": out, "checkpoint": checkpoint}
    if out is not None and checkpoint is not None:
        outputs["list of predictions"] = predictions_of(checkpoint)
    check_outputs({name: file for name, file in outputs.items() if file is not None}, [path])


def predictions_of(checkpoint):
    """Return the path of the predictions so far, next to the checkpoint of a run."""
    return f"{checkpoint}.predictions"


def is_predictions(path):
    """Return whether a file contains the predictions of a run, or nothing.

    >>> is_predictions("missing.ckpt.predictions")
    False
    """
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        return file.read(len(_PREDICTIONS_HEADER)) in (_PREDICTIONS_HEADER, b"")


def saved_seed(checkpoint):
    """Return the seed of the run that wrote a checkpoint; None if it had none.

    Parameters
    ----------
    checkpoint : path
    """
    path = local_path(checkpoint)
    parameters, _ = unpack_state(path.read_bytes(), path)
    return parameters.get("random_state")


class _Checkpoint:
    """The checkpoint of a run, and the file of predictions next to it if they are written."""

    def __init__(self, path, parameters, interval, *, keeps_predictions):
        self._path = None if path is None else local_path(path)
        self._parameters = parameters
        self._interval = interval
        self._keeps_predictions = keeps_predictions
        self._state = None
        self._predictions = None
        self._saved_at = time.monotonic()
        self._n_saved_rows = 0
        # Rows before the checkpoint still to be read again, and the checksum of those already read.
        self._n_left_to_replay = 0
        self._replayed_checksum = 0

    def load(self):
        """Return the saved state, or None if there is no checkpoint yet."""
        if not self._path.is_file():
            return None
        parameters, state = unpack_state(self._path.read_bytes(), self._path)
        different = [
            name for name, value in self._parameters.items() if parameters.get(name) != value
        ]
        if different or not isinstance(state, _TableState):
            raise InputError(
                f"{self._path} was written by a run with another "
                f"{different[0] if different else 'format'}; use the same, or start again without "
                "resume"
            )
        self._state = state
        self._n_saved_rows = state.n_rows
        self._n_left_to_replay = state.n_rows
        return state

    def __enter__(self):
        if self._path is not None and self._keeps_predictions:
            self._open_predictions(local_path(predictions_of(self._path)))
        return self

    def __exit__(self, *_):
        if self._state is not None and self._state.n_rows > self._n_saved_rows:
            with hold_signals():
                self._save()
        if self._predictions is not None:
            self._predictions.close()

    def replay(self, frame, path):
        """Verify the rows of a batch that were learned before; return their number."""
        n_rows = min(self._n_left_to_replay, len(frame))
        if n_rows == 0:
            return 0
        self._n_left_to_replay -= n_rows
        self._replayed_checksum = self._state.checksum_with(frame[:n_rows], self._replayed_checksum)
        if self._n_left_to_replay == 0 and self._replayed_checksum != self._state.checksum:
            raise InputError(
                f"{path} has changed since {self._path} was written; restore the table, or start "
                "again without resume"
            )
        return n_rows

    def read_predictions(self, n_rows):
        """Return the next predictions that were made before the checkpoint."""
        return self._state.target.decode(np.frombuffer(self._predictions.read(8 * n_rows)))

    def add(self, state, predicted):
        """Record the state after a batch and its predictions; save if the interval has passed."""
        if self._predictions is not None:
            self._predictions.write(state.target.encode(predicted).tobytes())
        # There is no checkpoint to save.
        if self._path is None:
            return
        self._state = state
        if time.monotonic() - self._saved_at > self._interval:
            self._save()

    def _open_predictions(self, path):
        """Open the file of predictions after its header."""
        if path.exists() and not is_predictions(path):
            raise InputError(
                f"{path} already exists and does not contain predictions of a run; rename it, or "
                "choose another checkpoint"
            )
        # A new run starts a new file.
        if self._n_saved_rows == 0:
            path.write_bytes(_PREDICTIONS_HEADER)
        n_bytes = len(_PREDICTIONS_HEADER) + 8 * self._n_saved_rows
        if not path.exists() or path.stat().st_size < n_bytes:
            raise InputError(f"{path} lacks predictions; resume without out, or start again")
        self._predictions = path.open("r+b")
        self._predictions.seek(len(_PREDICTIONS_HEADER))

    def _save(self):
        try:
            if self._predictions is not None:
                self._predictions.flush()
            with atomic_file(self._path) as file:
                pack_state(file, self._parameters, self._state)
        except (InputError, OSError) as error:
            # A full disk must not end the run: the last checkpoint is still valid.
            warnings.warn(SavingWarning("no checkpoint: ", error), stacklevel=2)
        self._saved_at = time.monotonic()
        self._n_saved_rows = self._state.n_rows


class _NumberTarget:
    """A numeric target, standardized by the first batch."""

    task = "regression"

    def __init__(self, values):
        self._mean = values.mean()
        # A constant target has standard deviation 0.
        self._scale = max(values.std(), 1e-300)
        # Sums of squared errors, of targets, and of squared targets.
        self._sums = np.zeros(3)

    def prepare(self, learner):
        """Set the clip of the learner."""
        loss = get_loss(learner.loss)
        if loss.is_classification:
            raise InputError(
                Parameter("loss", loss.name),
                " is for labels, but the target is numeric; choose another loss or give ",
                Parameter("task", "classification"),
            )
        return learner.set_params(clip=None if loss.name == "squared" else CLIP)

    def learn(self, learner, X, y):
        """Return predictions for the rows of a batch, each made before its row is learned."""
        # Scores are standardized, predictions in the units of the table.
        scores = learner.predict_then_learn(X, (y - self._mean) / self._scale)
        predicted = self._mean + self._scale * scores
        self._sums += [np.sum((predicted - y) ** 2), np.sum(y), np.sum(y**2)]
        return predicted

    def encode(self, predicted):
        """Return the predictions as numbers."""
        return predicted

    def decode(self, numbers):
        """Return the predictions that `encode` turned into numbers."""
        return numbers

    def losses(self, n_rows):
        """Return the mean squared error, and that of the best constant."""
        squared_error, mean, mean_square = self._sums / n_rows
        return squared_error, mean_square - mean**2


class _LabelTarget:
    """A target with classes, those of the first batch or given by the user."""

    task = "classification"

    def __init__(self, classes):
        self.classes = np.array(sorted(classes))
        self._counts = np.zeros(len(self.classes))
        self._n_wrong = 0

    def prepare(self, learner):
        """Replace a loss for numbers by one for labels."""
        if get_loss(learner.loss).is_classification:
            return learner
        return learner.set_params(loss="squared_hinge", clip=CLIP)

    def learn(self, learner, X, y):
        """Return predictions for the rows of a batch, each made before its row is learned."""
        scores = learner.predict_then_learn(X, y, classes=self.classes)
        predicted = decode_scores(scores, self.classes)
        self._counts += np.sum(y[:, None] == self.classes, axis=0)
        self._n_wrong += np.count_nonzero(predicted != y)
        return predicted

    def encode(self, predicted):
        """Return the indices of the predicted classes."""
        return np.searchsorted(self.classes, predicted).astype(np.float64)

    def decode(self, numbers):
        """Return the classes whose indices `encode` returned."""
        return self.classes[numbers.astype(np.int64)]

    def losses(self, n_rows):
        """Return the fraction of wrong labels, and that of the best constant."""
        return self._n_wrong / n_rows, 1 - self._counts.max() / n_rows


class _TableState:
    """What a checkpoint contains: columns, scales, sums of losses, and the learner."""

    def __init__(self, frame, path, target, features, task, classes, learner):
        self._path = str(path)
        self._target_name = target
        for name in [target, *(features or [])]:
            if name not in frame.columns:
                raise InputError(
                    f"{path} has no column {name!r}; its columns are {', '.join(frame.columns)}"
                )
        self.features = features or [name for name in frame.columns if name != target]
        if not self.features:
            raise InputError(f"{path} has only the column {target!r}; add columns to learn from")
        self.n_rows = 0
        self.checksum = 0
        X = self._matrix(frame)
        self._mean = X.mean(axis=0)
        deviation = X.std(axis=0)
        self._scale = np.where(deviation > 0, deviation, 1.0)
        # Text is compared as text: a class "1.0" is not the class "1".
        column = frame[target]
        if (_infer_task(column) if task == "auto" else task) == "classification":
            found = column.cast(str).unique().to_list() if classes is None else classes
            self.target = _LabelTarget(found)
        else:
            self.target = _NumberTarget(self._numbers(column))
        self.learner = self.target.prepare(learner)

    def checksum_with(self, frame, checksum):
        """Return the checksum of all rows up to this batch, given that of the rows before it."""
        targets = "\n".join(str(value) for value in frame[self._target_name].to_list())
        checksum = zlib.crc32(self._matrix(frame).tobytes(), checksum)
        return zlib.crc32(targets.encode(), checksum)

    def learn(self, frame):
        """Return predictions for the rows of a batch, each made before its row is learned."""
        X = (self._matrix(frame) - self._mean) / self._scale
        X = np.clip(X, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        column = frame[self._target_name]
        is_label = self.target.task == "classification"
        y = self._labels(column) if is_label else self._numbers(column)
        predicted = self.target.learn(self.learner, X, y)
        self.n_rows += len(y)
        self.checksum = self.checksum_with(frame, self.checksum)
        return predicted

    def result(self, *, seconds):
        """Return the `TableRun` of all rows so far."""
        loss, constant_loss = self.target.losses(self.n_rows)
        return TableRun(
            task=self.target.task,
            n_rows=self.n_rows,
            n_features=len(self.features),
            loss=float(loss),
            constant_loss=float(constant_loss),
            n_support=self.learner.n_support_,
            seconds=seconds,
        )

    def _matrix(self, frame):
        """Return the features of a batch."""
        for name in self.features:
            if name not in frame.columns:
                raise InputError(
                    f"{self._path}: column {name!r} is missing after row {self.n_rows}; write all "
                    "rows with the same columns"
                )
        return np.column_stack([self._numbers(frame[name]) for name in self.features])

    def _numbers(self, column):
        """Return the values of a column; rows are counted from 1 in errors."""
        if not (column.dtype.is_numeric() or column.dtype == bool):
            raise InputError(
                f"{self._path}: column {column.name!r} holds {column.dtype}, not numbers; exclude "
                "it by listing the features"
            )
        values = column.to_numpy().astype(np.float64)
        is_finite = np.isfinite(values)
        if not is_finite.all():
            row = self.n_rows + int(np.argmin(is_finite)) + 1
            raise InputError(
                f"{self._path}: column {column.name!r} is empty or infinite in row {row} of the "
                "data; fill it or drop the row"
            )
        return values

    def _labels(self, column):
        """Return the labels of a column as text."""
        labels = column.cast(str).to_numpy()
        classes = self.target.classes
        is_known = np.isin(labels, classes)
        if not is_known.all():
            row = int(np.argmin(is_known))
            raise InputError(
                f"{self._path}: label {labels[row]!r} in row {self.n_rows + row + 1} is missing "
                "from the first batch; list all labels: ",
                Parameter("classes", ",".join([*classes, labels[row]])),
            )
        return labels


def _infer_task(column):
    """Return "classification" for text and for few different integers."""
    if not column.dtype.is_numeric():
        return "classification"
    # Real numbers are never classes, however few there are.
    has_few_values = len(column.drop_nulls().unique()) <= MAX_CLASSES
    is_integer = not column.dtype.is_float()
    return "classification" if has_few_values and is_integer else "regression"
