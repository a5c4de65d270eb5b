"""Which statements a run takes, and what it says about names and values there are not."""

import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.mechanisms.catalogue import BROKEN_STATEMENTS, NEGATIVE_CONTROLS, PARTS, THEOREMS
from dpwitness.reports.reproduce.run import controls, find, select
from dpwitness.reports.statements.statements import CONTROLS


def names(chosen):
    return [one.identifier for one in chosen]


def test_without_a_name_every_theorem_is_taken_in_the_catalogues_order():
    assert names(select([], [])) == [theorem.identifier for theorem in THEOREMS]
    assert all(one.settings == ({},) for one in select([], []))


def test_controls_come_after_the_theorems_and_each_has_a_name_of_its_own():
    chosen = names(select([], [], with_controls=True))
    shown = [c for c in NEGATIVE_CONTROLS if c.detectable]
    hidden = len(NEGATIVE_CONTROLS) - len(shown)
    every = len(THEOREMS) + len(shown) + len(BROKEN_STATEMENTS)
    assert every <= len(chosen) <= every + hidden
    assert len(set(chosen)) == len(chosen)
    assert all(not control.holds for control in controls())
    assert all(find(identifier).identifier == identifier for identifier in chosen)


def test_a_name_is_an_identifier_before_it_is_a_pattern():
    assert names(select(["T-COMP-HET*"], [])) == ["T-COMP-HET*"]
    errata = names(select(["ERR-EM-*"], []))
    assert sorted(errata) == [f"ERR-EM-{k}" for k in (1, 2, 3, 4, 6)]


def test_a_statement_named_twice_is_taken_once():
    assert names(select(["EM-3.12", "EM-3.*", "EM-3.12"], []))[0] == "EM-3.12"
    assert len(set(names(select(["EM-3.12", "EM-3.*"], [])))) == len(select(["EM-3.*"], []))


def test_settings_are_combined_and_kept_in_order():
    (chosen,) = select(["EM-3.12"], ["epsilon=0.5,1", "gap=5,10"])
    assert chosen.settings == (
        {"epsilon": 0.5, "gap": 5.0},
        {"epsilon": 0.5, "gap": 10.0},
        {"epsilon": 1.0, "gap": 5.0},
        {"epsilon": 1.0, "gap": 10.0},
    )


def test_settings_without_a_name_take_the_theorems_that_have_the_parameter():
    chosen = names(select([], ["scale=1,2"]))
    assert chosen == [t.identifier for t in THEOREMS if "scale" in t.parameters]


@pytest.mark.parametrize(
    ("given", "assignments", "sentence"),
    [
        (["NO-SUCH"], [], "no statement 'NO-SUCH'"),
        (["ZZ-*"], [], "no statement 'ZZ-\\*'"),
        (["EM-3.12"], ["beta=1"], "has no parameter 'beta'; it has: candidates, epsilon, gap"),
        (["EM-3.12"], ["epsilon=40"], r"epsilon .* a number from 0\.1 to 4, got 40"),
        (["EM-3.12"], ["epsilon=nan"], r"from 0\.1 to 4, got nan"),
        (["EM-3.12"], ["gap=2.5"], "a whole number from 1 to 30, got 2.5"),
        (["EM-3.12"], ["gap=inf"], "a whole number from 1 to 30, got inf"),
        (["EM-3.12"], ["epsilon"], "--set takes name=value"),
        (["EM-3.12"], ["epsilon="], "--set takes name=value"),
        (["EM-3.12"], ["epsilon=one"], "takes numbers separated by commas, got 'one'"),
        (["EM-3.12"], ["epsilon=1,1.0"], "a value twice"),
        (["EM-3.12"], ["epsilon=1", "epsilon=2"], "names epsilon twice"),
        ([], ["nonsense=1"], "no theorem has the parameter nonsense; there are: .*epsilon"),
        (["EM-3.12"], ["candidates=" + ",".join(map(str, range(20, 72)))], "52 combinations"),
    ],
)
def test_what_there_is_not_is_one_sentence(given, assignments, sentence):
    with pytest.raises(InvalidArgument, match=sentence) as raised:
        select(given, assignments)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.identifier)
def test_every_theorem_has_a_part(theorem):
    assert theorem.part in PARTS


def test_negative_controls_are_a_part_of_their_own():
    assert {control.part for control in controls()} == {CONTROLS}
    assert CONTROLS not in PARTS


def test_a_file_stands_for_the_theorems_in_it(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dpwitness import Theorem\n"
        "ONE, TWO = (Theorem(identifier=f'OWN-{k}', statement='s', reference='r', subject=len)"
        " for k in (1, 2))\nAGAIN = ONE\n",
        encoding="utf-8",
    )
    assert names(select([str(file)], [])) == [f"{file}:ONE", f"{file}:TWO"]
    (tmp_path / "none.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="has no Theorem"):
        select([str(tmp_path / "none.py")], [])
    with pytest.raises(InvalidArgument, match="there is no file"):
        select([str(tmp_path / "other.py")], [])
