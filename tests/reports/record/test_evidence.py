import json
from dataclasses import replace
from math import inf

import jsonschema
import numpy as np
import pytest

from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.auditors.outputs.decoding import from_json
from dpwitness.auditors.results.results import Pair, Verdict
from dpwitness.reports.record import evidence, reading
from dpwitness.reports.record.json_schema import schema

SCHEMA = schema()


def valid(data):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA, cls=jsonschema.Draft202012Validator)
    return True


def written(tmp_path, data):
    path = tmp_path / "e.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def loaded(path):
    return reading.entries_of(reading.load_document(path), repr(path))


def test_a_document_keeps_to_the_schema_and_reads_back(sound, refuted, tmp_path):
    odd = replace(
        sound,
        epsilon_lower=-inf,
        detectable_epsilon=inf,
        verdict=Verdict.INCONCLUSIVE,
        pair=Pair((1, float("nan")), np.arange(3)),
        sketch=None,
    )
    data = evidence.document((sound, refuted, odd), replay="dpwitness replay e.json")
    text = evidence.to_text(data)
    assert valid(json.loads(text))
    assert loaded(written(tmp_path, text)) == json.loads(text)["results"]
    last = json.loads(text)["results"][2]
    assert (last["epsilon_lower"], last["detectable_epsilon"]) == ("-inf", "inf")
    assert from_json(last["pair"]["neighbour"]).tolist() == [0, 1, 2]


def test_the_likelier_side_comes_first_in_the_evidence(refuted):
    result = evidence.document((refuted,), replay="")["results"][0]
    assert result["evidence"]["hits"] == [500, 119]
    assert result["evidence"]["counts"][0]["hits"] == [119, 500]
    assert result["witness"]["database"] == [0, 1]
    assert result["witness"]["event"]["description"] == "output is 1"


def test_integers_stay_integers(sound):
    counts = replace(sound.evidence.counts[0], hits=(np.int64(3), np.int64(2)))
    result = replace(
        sound, draws=np.int64(2**40), evidence=replace(sound.evidence, counts=(counts,))
    )
    data = json.loads(evidence.to_text(evidence.document((result,), replay="")))["results"][0]
    for number in (data["draws"], data["seed"], *data["evidence"]["counts"][0]["hits"]):
        assert type(number) is int
    assert data["draws"] == 2**40


def test_the_environment_names_no_host_and_no_path():
    import platform

    text = " ".join(evidence.environment().values())
    assert platform.node() not in text
    assert "/" not in text


HOSTILE = [
    ("", "not JSON"),
    ("{", "not JSON"),
    ("[]", "not an evidence file"),
    ("{}", "no field 'schema'"),
    ('{"schema": "dpwitness/2", "results": []}', "this version reads"),
    ('{"schema": "dpwitness/1", "results": []}', "no results"),
    ('{"schema": "dpwitness/1", "results": [1]}', r"results\[0\] must be an object"),
    ('{"schema": "dpwitness/1", "results": [{}]}', "mechanism is missing"),
    ('{"schema": "dpwitness/1", "schema": "dpwitness/1"}', "occurs twice"),
    ('{"schema": NaN}', "NaN is not JSON"),
    ('{"schema": 1e999}', "too large"),
    ('{"schema": ' + "9" * 5000 + "}", "too many digits"),
    ("[" * 100_000, "nested too deeply"),
    ("[" * 300 + "]" * 300, "nested more than"),
]


@pytest.mark.parametrize(("text", "sentence"), HOSTILE, ids=[s for _, s in HOSTILE])
def test_damaged_files_are_refused_with_a_sentence(tmp_path, text, sentence):
    with pytest.raises(EvidenceFormatError, match=sentence):
        loaded(written(tmp_path, text))


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "e.json"
    path.write_bytes(b"\x80\x04\x95")
    with pytest.raises(EvidenceFormatError, match="not UTF-8"):
        loaded(str(path))


SPOILT = [
    (("mechanism",), 1, "must be a string"),
    (("claim", "kind"), "utility", "must be 'privacy'"),
    (("claim", "epsilon"), "many", "must be a number"),
    (("verdict",), "passed", "must be one of"),
    (("verdict",), ["refuted"], "must be a string"),
    (("seed",), -1, "whole number"),
    (("seed",), True, "whole number"),
    (("seed",), 1.5, "whole number"),
    (("seeded",), 1, "true or false"),
    (("evidence", "counts"), {}, "must be a list"),
    (("evidence", "counts"), [1], "must be an object"),
    (("evidence", "hits"), [1, 2, 3], r"hits must be a list of length <= 2"),
    (("plan",), None, "must be an object"),
    (("growth",), [[1]], r"growth\[0\] must be a list of length >= 2"),
    (("sketch", "inside"), [1], r"inside\[0\] must be true or false"),
    (("evidence", "looks"), [{}], r"looks\[0\]\.\w+ is missing"),
    (("learning",), {"draws": "many", "gain": None}, "draws must be a whole number"),
]


@pytest.mark.parametrize(("place", "value", "sentence"), SPOILT)
def test_every_field_is_checked(sound, tmp_path, place, value, sentence):
    data = evidence.document((sound,), replay="")
    inner = data["results"][0]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(EvidenceFormatError, match=sentence):
        loaded(written(tmp_path, data))


def test_more_hits_than_trials(sound, tmp_path):
    data = evidence.document((sound,), replay="")
    data["results"][0]["evidence"]["counts"][1]["hits"] = [5000, 1]
    with pytest.raises(EvidenceFormatError, match=r"counts\[1\] has more hits than trials"):
        loaded(written(tmp_path, data))


def test_fields_of_later_versions_are_let_be(sound, tmp_path):
    data = evidence.document((sound,), replay="")
    data["results"][0]["novelty"] = {"a": 1}
    assert valid(data)
    assert loaded(written(tmp_path, data))[0]["novelty"] == {"a": 1}
