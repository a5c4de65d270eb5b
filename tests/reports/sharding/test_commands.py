"""Identity, shards and merge as they are typed."""

import json
from hashlib import sha256

import pytest

CODE = """
def noisy(database, rng):
    return len(database) + rng.laplace()
noisy.block = 64
"""
AUDIT = ("audit", "own.py:noisy", "--epsilon", "0.4", "--pair", "[]", "[1]", "--trials", "1500")
TARGET = ("--target", "own.py:noisy")


@pytest.fixture
def own(run, tmp_path):
    """The command line in a folder with a mechanism of the user's."""
    (tmp_path / "own.py").write_text(CODE)
    return run


@pytest.fixture
def shards(own):
    for number in (1, 2):
        done = own(*AUDIT, "--shard", f"{number}/2", "--json", f"{number}.json")
        assert done.exit_code == 0, done.stderr
        assert "Nothing is judged" in done.stdout
    return own


def evidence(path):
    data = json.loads(path.read_text())
    for result in data["results"]:
        del result["seconds"], result["replay"]
    return data["results"]


@pytest.mark.slow
def test_merged_shards_are_the_evidence_of_one_process(shards, tmp_path):
    alone = shards(*AUDIT, "--json", "alone.json")
    merged = shards("tools", "merge", "1.json", "2.json", *TARGET, "--json", "merged.json")
    assert merged.exit_code == alone.exit_code == 1
    assert evidence(tmp_path / "merged.json") == evidence(tmp_path / "alone.json")


@pytest.mark.long
def test_a_file_of_shards_runs_no_code_that_was_not_named(shards):
    done = shards("tools", "merge", "1.json", "2.json")
    assert done.exit_code == 2
    assert "say that it may be with --target own.py:noisy" in done.stderr


@pytest.mark.slow
def test_missing_doubled_foreign_and_edited_shards_are_named(shards, tmp_path):
    missing = shards("tools", "merge", "2.json", *TARGET)
    assert (missing.exit_code, "shard 1/2 is missing" in missing.stderr) == (2, True)
    doubled = shards("tools", "merge", "1.json", "2.json", "1.json", *TARGET)
    assert doubled.exit_code == 1
    assert "shard 1/2 was given twice, in '1.json' and '1.json'; counted once" in doubled.stderr
    shards(*AUDIT, "--seed", "9", "--shard", "1/2", "--json", "other.json")
    foreign = shards("tools", "merge", "1.json", "other.json", "2.json", *TARGET)
    assert foreign.exit_code == 2
    assert "'other.json' (it has 'seed 9' where most have 'seed 0')" in foreign.stderr
    shards(*AUDIT[:-1], "900", "--shard", "1/2", "--json", "fewer.json")
    fewer = shards("tools", "merge", "1.json", "2.json", "fewer.json", *TARGET)
    assert "'fewer.json' (it has trials 900 where most have 1500)" in fewer.stderr
    text = (tmp_path / "2.json").read_text()
    data = json.loads(text)
    data["claims"][0]["rows"][0]["hits"][0] += 1
    (tmp_path / "2.json").write_text(json.dumps(data))
    edited = shards("tools", "merge", "1.json", "2.json", *TARGET)
    assert edited.exit_code == 2
    assert "'2.json' was edited or damaged" in edited.stderr


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "dpwitness shard"}', "\x00"])
def test_what_is_no_shard_is_a_sentence(run, tmp_path, content):
    (tmp_path / "no.json").write_text(content)
    done = run("tools", "merge", "no.json")
    assert done.exit_code == 2
    assert "no.json" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_another_mechanism_than_the_shards_had_is_refused(shards, tmp_path):
    (tmp_path / "new.py").write_text(CODE.replace("len(database)", "2 * len(database)"))
    done = shards("tools", "merge", "1.json", "2.json", "--target", "new.py:noisy")
    assert done.exit_code == 2
    assert "of another audit than this machine would make: it has 'mechanism" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--shard", "1/2"), "name it with --json FILE"),
        (("--shard", "1/2", "--json", "a", "--html", "b"), "no verdict to write to --html"),
        (("--shard", "1/2", "--json", "a", "--seconds", "3"), "say --trials"),
        (("--shard", "1/2", "--json", "a", "--unseeded"), "is not seeded"),
        (("--checkpoint", "c", "--attacker", "values", "--attacker", "bits"), "one attacker"),
        (("--backend", "ray", "--scheduler", "tcp://x"), "is an address of dask"),
        (("--scheduler", "tcp://x", "--address", "y"), "one run has one engine"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_drawn(own, words, sentence):
    done = own(*AUDIT, *words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())


def test_the_hash_is_that_of_the_text(run):
    whole = run("tools", "fingerprint", "laplace").stdout.rstrip("\n")
    text, _, digest = whole.rpartition("\n")
    assert sha256(text.encode()).hexdigest() == digest
    assert run("tools", "fingerprint", "laplace", "--quiet").stdout.strip() == digest
    assert (
        run(
            "tools", "fingerprint", "laplace", "--quiet", "--trials", "9", "--workers", 2
        ).stdout.strip()
        == digest
    )
    assert run("tools", "fingerprint", "laplace", "--quiet", "--seed", "9").stdout.strip() != digest


@pytest.mark.long
def test_a_checkpoint_is_gone_on_from(own, tmp_path):
    done = [own(*AUDIT, "--checkpoint", "kept", "--json", f"{name}.json") for name in "ab"]
    assert [one.exit_code for one in done] == [1, 1]
    assert evidence(tmp_path / "a.json") == evidence(tmp_path / "b.json")
    other = own(*AUDIT, "--checkpoint", "kept", "--seed", "3")
    assert other.exit_code == 2
    assert "of another audit: it has 'seed 0' where this audit has 'seed 3'" in other.stderr


@pytest.mark.long
def test_who_looks_and_what_lists_mean_travel_with_a_shard(own, tmp_path):
    words = (
        *AUDIT[:4], "--pair", "[3]", "[4]", "--relation", "add-remove", "--histogram",
        "--attacker", "types", "--trials", "1500",
    )  # fmt: skip
    alone = own(*words, "--json", "alone.json")
    for number in (1, 2):
        assert own(*words, "--shard", f"{number}/2", "--json", f"{number}.json").exit_code == 0
    merged = own("tools", "merge", "1.json", "2.json", *TARGET, "--json", "merged.json")
    assert merged.exit_code == alone.exit_code, merged.stderr
    assert evidence(tmp_path / "merged.json") == evidence(tmp_path / "alone.json")
    (found,) = evidence(tmp_path / "merged.json")
    assert found["plan"]["domain"] == "histogram"
    assert found["target"] == "types=own.py:noisy"
