"""An argument is one thing in Python, on the command line and in the settings of a project."""

import inspect
from dataclasses import fields

import click
import pytest
from click.testing import CliRunner

import dpwitness
from dpwitness import audit
from dpwitness.auditors.asked import ASKED
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.privacy.request import AuditRequest
from dpwitness.reports.cli import main
from dpwitness.reports.settings.settings import Settings, SettingsError, read_settings

UNUSABLE = {
    "alpha": (0.0, 0.5, -1.0, 2.0),
    "trials": (0, 1, -5),
    "notice": (1.0, 0.5, -1.0),
    "seconds": (0.0, -3.0, float("inf")),
    "precision": (1.0, -0.1),
    "seed": (-1,),
    "workers": (0, -2),
    "timeout": (0.0, -1.0),
    "distance": (0, -1),
    "epsilon": (-1.0, float("inf"), float("nan")),
    "delta": (-0.1, 1.0, 2.0),
}
SETTINGS = {field.name for field in fields(Settings)}


def test_what_is_declared_is_what_a_request_takes():
    assert {field.name for field in fields(AuditRequest)} == set(ASKED)
    for field in fields(AuditRequest):
        if ASKED[field.name].option:
            assert field.default == ASKED[field.name].default, field.name


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, many in UNUSABLE.items() for value in many]
)
def test_a_value_that_cannot_be_used_is_refused_alike_by_every_door(name, value, tmp_path):
    with pytest.raises(InvalidArgument) as caught:
        audit("laplace", **{"epsilon": 1.0, name: value})
    assert ASKED[name].expected in str(caught.value)
    outcome = CliRunner().invoke(main, ["audit", "laplace", f"--{name}", f"{value}"])
    assert outcome.exit_code == 2
    assert name in outcome.output
    if name in SETTINGS:
        (tmp_path / "dpwitness.toml").write_text(f"{name} = {value}\n")
        with pytest.raises(SettingsError, match=f"{name} must be {ASKED[name].expected}"):
            read_settings(tmp_path)


def test_every_option_of_an_argument_has_its_words():
    """A command may say what is special of it, and takes the values of the argument anyway."""
    found = 0
    for words, command in _commands(main, ()):
        for option in command.params:
            known = ASKED.get(option.name)
            if known is None or not known.option or "estimate" in words or known.kind == "flag":
                continue
            found += 1
            assert isinstance(option, click.Option)
            if known.words:
                assert tuple(option.type.choices) == known.words, (words, option.name)
            assert option.nargs == (2 if known.kind == "pair" else 1), (words, option.name)
            assert option.multiple == (known.kind in ("texts", "words")), (words, option.name)
    assert found > 50


def _commands(command, words):
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from _commands(one, (*words, name))
    else:
        yield words, command


def test_every_public_function_answers_a_wrong_call_in_words():
    """A TypeError of Python's own names no remedy: none comes out of a public function."""
    functions = [
        name
        for name in dpwitness.__all__
        if callable(one := getattr(dpwitness, name)) and not inspect.isclass(one)
    ]
    assert len(functions) > 10
    for name in functions:
        for args, keywords in (((), {"nonsense": 1}), ((1,) * 12, {})):
            with pytest.raises(ValueError, match=name):
                getattr(dpwitness, name)(*args, **keywords)


def test_a_mark_without_its_arguments_says_how_one_is_written():
    with pytest.raises(ValueError, match=r"needs relation=.*write @dpwitness.claims\(epsilon=1"):
        dpwitness.claims(epsilon=1)
    with pytest.raises(ValueError, match=r"by name, in parentheses"):
        dpwitness.claims(lambda database, rng: 0)


@pytest.mark.parametrize("value", ["x", [1.0, "x"], None])
def test_a_parameter_that_is_no_number_is_refused(value):
    with pytest.raises(dpwitness.InvalidArgument, match="epsilon takes numbers"):
        dpwitness.reproduce("EM-3.12", parameters={"epsilon": value})
