"""The configuration agrees with the function and the command, and rejects invalid values."""

import inspect
from dataclasses import MISSING, fields

import pytest

import graphsqueak as gs
from graphsqueak import InputError
from graphsqueak.cli.sparsify import sparsify as sparsify_command
from graphsqueak.sparsifiers.config import METHODS, SparsifyConfig

# Fields that the command line sets itself: `options` has no options, `progress` follows --quiet.
NOT_IN_COMMAND = {"options", "progress"}


def config_defaults():
    """Default of every field, None for a field that is made when it is not given."""
    return {
        field.name: None if field.default is MISSING else field.default
        for field in fields(SparsifyConfig)
    }


def parameter_defaults(function):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
    }


def test_function_has_the_fields_of_the_configuration():
    parameters = parameter_defaults(gs.sparsify)
    assert parameters.pop("graph") is inspect.Parameter.empty
    assert parameters == config_defaults()
    assert list(parameters) == list(config_defaults())


def test_function_documents_every_parameter():
    documentation = inspect.getdoc(gs.sparsify)
    for name in parameter_defaults(gs.sparsify):
        assert f"\n{name} : " in documentation
    for method in METHODS:
        assert f'"{method}"' in documentation


def test_types_of_the_function_are_those_of_the_configuration_or_text():
    """Durations may be text, and options are made if they are not given."""
    parameters = inspect.signature(gs.sparsify, eval_str=True).parameters
    for field in fields(SparsifyConfig):
        annotation = parameters[field.name].annotation
        if field.name in {"half_life", "window"}:
            assert annotation == field.type | str
        elif field.name == "options":
            assert annotation == field.type | None
        else:
            assert annotation == field.type, field.name


def test_command_has_an_option_with_the_same_default_for_every_field():
    options = parameter_defaults(sparsify_command)
    for name, default in config_defaults().items():
        if name not in NOT_IN_COMMAND:
            assert options[name] == default, name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "exactly one of n_edges, epsilon and keep"),
        ({"n_edges": 5, "keep": 0.1}, "n_edges and keep"),
        ({"n_edges": 5, "method": "best"}, "method"),
        ({"n_edges": 5, "ridge": -1.0}, "ridge"),
        ({"n_edges": 5, "delta": 1.0}, "delta"),
        ({"n_edges": 5, "checkpoint_interval": -1.0}, "checkpoint_interval"),
        ({"n_edges": 5, "resume": True}, "checkpoint"),
        ({"n_edges": 5, "window": 0.0}, "window"),
        ({"n_edges": 5, "half_life": 1.0, "workers": 2}, "one pass"),
        ({"n_edges": 5, "n_parts": 3}, "merge trees"),
        ({"n_edges": 5, "memory_limit": 10}, "memory"),
        ({"n_edges": 5, "method": "kelner-levin"}, "epsilon"),
        ({"epsilon": 0.5, "method": "subgraph"}, "not epsilon"),
    ],
)
def test_inconsistent_configurations_raise(settings, message):
    with pytest.raises(InputError, match=message):
        SparsifyConfig(**settings)
    with pytest.raises(InputError, match=message):
        gs.sparsify(gs.sources.path(3), **settings)
