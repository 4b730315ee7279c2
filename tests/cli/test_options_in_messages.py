"""The command line writes the parameters of a message as options of the running command."""

import pytest

from graphsqueak.cli import as_option, options_of
from graphsqueak.errors import Parameter


@pytest.mark.parametrize(
    ("command", "parameter", "text"),
    [
        ("sparsify", Parameter("n_edges", 40), "--n-edges 40"),
        ("sparsify", Parameter("memory_limit"), "--memory"),
        ("sparsify", Parameter("random_state"), "--seed"),
        ("sparsify", Parameter("n_parts"), "--parts"),
        ("info", Parameter("weighted", True), "--weights"),
        ("info", Parameter("weighted", False), "--no-weights"),
        ("info", Parameter("bipartite", False), "--unipartite"),
        ("info", Parameter("columns", ("my id", 2)), "--columns 'my id,2'"),
        ("info", Parameter("delimiter", "|"), "--delimiter '|'"),
        ("neighbors", Parameter("n_neighbors", 3), "--neighbors 3"),
        ("dictionary", Parameter("n_landmarks", 3), "--n-landmarks 3"),
        # An option that the command does not have, and an argument, are named as in Python.
        ("info", Parameter("n_edges", 40), "n_edges=40"),
        ("info", Parameter("edges"), "edges"),
        ("unknown", Parameter("keep", 0.1), "keep=0.1"),
    ],
)
def test_a_parameter_is_written_as_an_option_of_the_command(command, parameter, text):
    assert as_option(options_of([command, "edges.tsv"]), parameter) == text
