"""Messages name parameters as in Python or as options, also after pickling and when nested."""

import pickle

import numpy as np
import pytest

from graphsqueak.errors import ConvergenceWarning, InputError, Message, Parameter


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (Parameter("keep", 5.0), "keep=5.0"),
        (Parameter("keep", np.float64(5.0)), "keep=5.0"),
        (Parameter("ids", "text"), "ids='text'"),
        (Parameter("columns", (0, 1)), "columns=(0, 1)"),
        (Parameter("weighted", False), "weighted=False"),
        (Parameter("half_life", None), "half_life=None"),
        (Parameter("delimiter"), "delimiter"),
    ],
)
def test_a_parameter_is_written_as_in_a_call(parameter, text):
    assert str(parameter) == text


def test_an_error_of_a_worker_process_keeps_its_parameters():
    error = InputError("line 3: ", InputError("give ", Parameter("ids", "text")))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error) == "line 3: give ids='text'"
    assert again.render(lambda parameter: f"--{parameter.name}") == "line 3: give --ids"


def test_a_warning_has_pieces_and_its_residual():
    warning = ConvergenceWarning("above ", Parameter("tol", 1e-8), residual=0.5)
    assert str(warning) == "above tol=1e-08"
    assert warning.residual == 0.5


def test_braces_and_other_text_are_left_as_they_are():
    path = "edges {keep=3} `x` --ids.tsv"
    assert Message(path, ": ", Parameter("keep")).render(lambda _: "--keep") == f"{path}: --keep"
