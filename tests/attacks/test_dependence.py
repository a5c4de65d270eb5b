"""No spelling of memory, dependence or broken rows is an accusation, whatever asks and of whatever.

Every mechanism of dependent.py is sound at its claims when each call is fresh; promised.py has the
claims. The law of this file: each of them ends in a broken contract (status 4) or is not refuted.
And no mechanism of suspicious.py, which are functions of database and generator however they look,
ends in a broken contract. Every error probability is 1e-6 for one question: all of this file fails
by chance with probability below .002.
"""

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import ks_2samp

import dpwitness
from dpwitness import ContractError, Subject, Verdict

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
try:
    import promised
    import suspicious
finally:
    sys.path.remove(str(HERE))

ALPHA = 1e-6
TRIALS = 20_000
NAMES = promised.NAMES
SUSPICIOUS = [
    name
    for name, made in vars(suspicious).items()
    if inspect.isfunction(made) and not name.startswith("_")
    and made.__module__ == suspicious.__name__
]  # fmt: skip
KINDS = list(promised.claims_of(NAMES[0]))
FEW = (
    ("audit", "setdefault"), ("audit", "bit_rows_at_1_3"), ("tails", "sampled_once_a_call"),
    ("mean", "rows_share_a_fiftieth"), ("equality", "by_cell_and_count"),
    ("sample size", "setdefault"), ("invariant", "cycle_of_a_table"),
    ("follows law", "ar1_of_a_class"), ("audit", "bit_kept"),
    ("tails", "identity_of_the_generator"), ("audit", "map_that_forks_share"),
    ("tails", "file_that_forks_share"), ("audit", "decorated"),
    ("audit", "imported_pool"), ("smaller pair", "bit_imported"), ("equality", "imported_closure"),
)  # fmt: skip


@pytest.mark.slow
def test_a_first_call_has_the_law_that_is_promised(tmp_path, monkeypatch):
    """By the two-sample test of Kolmogorov and Smirnov, 400 first calls of a module made anew."""
    monkeypatch.chdir(tmp_path)
    code = compile((HERE / "dependent.py").read_text("utf-8"), "dependent.py", "exec")
    for name in sorted(set(NAMES) - promised.BEYOND_THE_PROCESS - promised.BY_IDENTITY):
        made = []
        for seed in range(400):
            module = {"__name__": "dependent"}
            exec(code, module)
            made.append(float(module[name]([1], np.random.default_rng([seed, 5]))))
            module["forget"]()
        sampler = promised.law_of(name).sampler
        law = np.asarray(sampler([1], np.random.default_rng(3), size=200_000), dtype=float)
        assert ks_2samp(made, law).pvalue > ALPHA, name


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """The modules of the mechanisms, newly imported from a folder that is the current one."""
    for name in ("dependent", "promised", "suspicious"):
        shutil.copy(HERE / f"{name}.py", tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    made = importlib.import_module("promised")
    yield made
    made.dependent.forget()


# One question in this process. ------------------------------------------------------------------


def leaking(run):
    """The mechanism, but of three records or more the sum is released: a small pair is sound."""

    def larger(database, rng):
        return 100.0 * sum(database) if len(database) >= 3 else run(database, rng)

    return larger


def asked(kind, name, promised):
    """What is found; ContractError where the contract is broken."""
    mechanism = promised.mechanism_of(name)
    epsilon, run = promised.law_of(name).epsilon, mechanism.run
    many = 5 if "rows" in name else 1  # a row that is a little wrong takes more draws to see
    if name in promised.BEYOND_THE_PROCESS:
        many = 0.1  # every call goes to the disk
    budget = {"trials": round(many * TRIALS), "alpha": ALPHA, "seed": 1}
    of_privacy = {"epsilon": epsilon, "relation": "add-remove", **budget}
    if kind == "audit":
        return dpwitness.audit(run, pair=([], [1]), **of_privacy)
    if kind == "audit by search":
        return dpwitness.audit(run, databases=promised.DATABASES, **of_privacy)
    if kind == "curve":
        return dpwitness.audit(run, curve=promised.curve_of(name), pair=([], [1]),
                               relation="add-remove", **budget)  # fmt: skip
    if kind == "smaller pair":
        lists = st.lists(st.sampled_from([0, 1]), max_size=5)
        return dpwitness.audit(leaking(run), databases=lists, **of_privacy)
    if kind == "follows law":
        from dpwitness.auditors.claims.follows_law import follows_law

        return follows_law(mechanism, alpha=ALPHA, draws=budget["trials"])
    if kind == "invariant":
        budget["trials"] = 2000  # fifty cases, each of which makes the module anew
    return dpwitness.check(
        Subject(claim=promised.claims_of(name)[kind], mechanism=mechanism), **budget
    )


def outcome(kind, name, promised):
    """The verdict, or contract; of a smaller pair, whether the pair that is named leaks."""
    try:
        found = asked(kind, name, promised)
    except ContractError:
        return "contract"
    if kind == "smaller pair" and found.refuted:
        named = max(len(found.witness.database), len(found.witness.neighbour))
        return "a leaking pair" if named >= 3 else "refuted on a sound pair"
    return found.verdict.value


def accused(kind, name, promised):
    return outcome(kind, name, promised).startswith("refuted")


ASKED = ("audit", "audit by search", "curve", "smaller pair", "follows law", *KINDS)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "name"), FEW)
def test_a_few_are_not_accused(fresh, kind, name):
    assert not accused(kind, name, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("name", NAMES)
def test_none_is_accused(fresh, kind, name):
    assert not accused(kind, name, fresh)


SCRIPT = """
import numpy as np
import dependent
from dpwitness import ContractError, audit

DRAWN = np.random.default_rng().laplace()
PUBLIC = np.random.default_rng(1).laplace()
print("the script runs")

def kept(database, rng):
    return float(sum(database)) + DRAWN

def leaking(database, rng):
    return float(sum(database)) + PUBLIC + rng.laplace() / 8

for run in (kept, leaking, dependent.imported_pool):
    try:
        print(audit(run, epsilon=1, relation="add-remove", pair=([], [1]), trials=4000).verdict)
    except ContractError as error:
        print("contract", "imported" in str(error))
"""


@pytest.mark.long
def test_noise_of_a_script_is_not_accused_and_the_script_runs_once(fresh, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout.split("\n")[:4] == [
        "the script runs", "contract True", "refuted", "contract True"
    ], done.stderr  # fmt: skip


@pytest.mark.long
def test_a_module_that_was_patched_is_refuted_as_it_is(fresh):
    """Processes that import it anew have it unpatched, and are compared with each other alone."""
    fresh.dependent._fresh = lambda database, rng: sum(database) + rng.laplace() / 8

    def run(database, rng):
        return fresh.dependent._fresh(database, rng)

    found = dpwitness.audit(
        run, epsilon=1, relation="add-remove", pair=([], [1]), trials=4000, seed=1
    )
    assert found.verdict is Verdict.REFUTED


# By commands: the terminal, the gate, pytest with a kept witness, the history. ------------------


def command(folder, *words, **more):
    """(status, text) of a command in the folder of the mechanisms."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(folder)}, **more,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def under_audit(folder, name):
    """The status of an audit of all that a mechanism carries."""
    status, told = command(
        folder, "dpwitness", "audit", f"promised.py:{name}", "--trials", str(TRIALS),
        "--alpha", str(ALPHA),
    )  # fmt: skip
    assert status in (0, 1, 3, 4), told
    assert status != 4 or "dpwitness: " in told
    return status


@pytest.mark.long
def test_one_is_not_accused_by_the_command(fresh, tmp_path):
    assert under_audit(tmp_path, "renewed_now_and_then") != 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_none_is_accused_by_the_command(fresh, tmp_path, name):
    assert under_audit(tmp_path, name) != 1


def emptied(folder):
    """The folder without what the mechanisms of an earlier run wrote there.

    A file that was there before looks like data: as memory filled before the audit began, it is
    among what the gate cannot see (docs/statistics.md, 6).
    """
    for place in [*folder.glob("dependent-*.txt"), *folder.glob("dependent.db")]:
        place.unlink()
    return folder


def entries(names):
    return f"alpha = {ALPHA}\n" + "".join(
        f'[[gate]]\ntarget = "dependent.py:{name}"\npair = ["[]", "[1]"]\n'
        f"epsilon = {promised.law_of(name).epsilon!r}\ntrials = {TRIALS}\n"
        'relation = "add-remove"\n'
        for name in names
    )


@pytest.mark.slow
def test_none_is_accused_by_the_gate_nor_by_its_history(fresh, tmp_path):
    """Three nights, each with another seed; the evidence of the nights is added."""
    (tmp_path / ".dpwitness").mkdir()  # a folder of this name is where runs are recorded
    (tmp_path / "dpwitness.toml").write_text(entries(NAMES))
    accused = set()
    for night in range(3):
        status, told = command(
            emptied(tmp_path), "dpwitness", "gate", "--seed", str(night), "--json", "out.json"
        )
        assert status in (0, 1, 4), told
        told = json.loads((tmp_path / "out.json").read_text("utf-8"))
        accused |= {
            one["mechanism"]
            for one, found in zip(told["results"], told["findings"], strict=True)
            if found["verdict"] == "refuted"
        }
    status, told = command(tmp_path, "dpwitness", "history")
    assert status == 0, told
    assert accused == set()
    chances = [float(one) for one in re.findall(r"\(p = ([-+.0-9e]+)\)", told)]
    assert chances
    assert min(chances) > ALPHA, told


FIXTURE = '''
import dependent, promised, pytest

def leaking(name):
    """Three records for each, or the true bit: the event of a witness is common to all laws."""
    law = promised.law_of(name)
    if law is promised.LAWS["bit"]:
        return lambda database, rng: bool(sum(database))
    return lambda database, rng: law.sampler([1, 1, 1] * len(database), rng)

@pytest.mark.parametrize("name", {names!r})
def test_one(dp_audit, name):
    run = {mechanism}
    dp_audit(run, epsilon=promised.law_of(name).epsilon, relation="add-remove", pair=([], [1]),
             trials=5000)
'''


def under_pytest(folder, mechanism, names):
    """The names whose test failed by a violation of privacy."""
    emptied(folder)
    (folder / "test_one.py").write_text(FIXTURE.format(names=list(names), mechanism=mechanism))
    command(
        folder, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_one.py",
        "--dp-alpha", str(ALPHA), "--junitxml", "out.xml",
    )  # fmt: skip
    cases = list(ElementTree.parse(folder / "out.xml").iter("testcase"))
    assert len(cases) == len(names)
    return {
        case.get("name").partition("[")[2].rstrip("]")
        for case in cases
        for failure in case.iter("failure")
        if "PrivacyViolation" in failure.get("message") + (failure.text or "")
    }


@pytest.mark.slow
def test_none_is_accused_by_the_fixture_nor_by_a_witness_that_was_kept(fresh, tmp_path):
    """The witness of a mechanism that leaks is kept, and counted again on those that do not."""
    assert under_pytest(tmp_path, "getattr(dependent, name)", NAMES) == set()
    assert under_pytest(tmp_path, "leaking(name)", NAMES) == set(NAMES)
    kept = list((tmp_path / ".dpwitness" / "witnesses").glob("*.json"))
    assert len(kept) == len(NAMES)
    assert under_pytest(tmp_path, "getattr(dependent, name)", NAMES) == set()


@pytest.mark.long
def test_a_file_that_is_left_when_a_witness_is_counted_again_accuses_nobody(fresh, tmp_path):
    """The draws of the old witness write it, and the audit that follows only reads it."""
    name = ["file_of_all"]
    assert under_pytest(tmp_path, "leaking(name)", name) == set(name)
    assert under_pytest(tmp_path, "getattr(dependent, name)", name) == set()


# Sound mechanisms that look suspicious. ---------------------------------------------------------


def taken(name, promised):
    """The verdict of an audit and, if the law is that of noise on the sum, of a tail claim."""
    made = importlib.import_module("suspicious")
    run, epsilon = getattr(made, name), made.PROMISE.get(name, 1.0)
    found = [
        dpwitness.audit(
            run, epsilon=epsilon, relation="add-remove", pair=([], [1]), trials=2000, alpha=ALPHA,
            exceptions="output" if name == "exceptions" else "error",
        ).verdict
    ]  # fmt: skip
    if isinstance(run([1], np.random.default_rng(0)), float) and name not in made.OTHER_LAW:
        mechanism = promised.mechanism_of(name, run, "tails")
        found.append(
            dpwitness.check(
                Subject(claim=mechanism.claims[0], mechanism=mechanism), trials=2000, alpha=ALPHA
            ).verdict
        )
    return found


@pytest.mark.parametrize(
    "name", ["rows_by_matrix_product", "pool_of_threads", "output_array_reused"]
)
def test_a_few_sound_ones_are_left_alone(fresh, name):
    assert Verdict.REFUTED not in taken(name, fresh)


@pytest.mark.slow
@pytest.mark.filterwarnings("default:it is slow")
@pytest.mark.parametrize("name", SUSPICIOUS)
def test_every_sound_one_is_left_alone(fresh, name):
    assert Verdict.REFUTED not in taken(name, fresh)
