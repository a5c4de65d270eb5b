import json
from dataclasses import replace
from math import inf

import jsonschema
import numpy as np
import pytest

from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.auditors.evidence.record import FindingRecord
from dpwitness.auditors.outputs.decoding import from_json
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.model import Pair
from dpwitness.reports.record import evidence, reading
from dpwitness.reports.record.evidence import schema

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
    told = json.loads(text)["findings"][2]
    assert (told["epsilon_lower"], told["detectable_epsilon"]) == ("-inf", "inf")
    assert from_json(json.loads(text)["results"][2]["pair"]["neighbour"]).tolist() == [0, 1, 2]


def test_the_likelier_side_comes_first_in_the_evidence(refuted):
    data = evidence.document((refuted,), replay="")
    (result,), (told,) = data["results"], data["findings"]
    assert told["hits"] == [500, 119]
    assert result["evidence"]["counts"][0]["hits"] == [119, 500]
    assert told["witness"]["database"] == [0, 1]
    assert told["witness"]["event"]["description"] == "output is 1"


def test_integers_stay_integers(sound):
    counts = replace(sound.judged[0], hits=(np.int64(3), np.int64(2)), cost=np.int64(1000))
    evident = replace(sound.evidence, counts=(counts,))
    result = replace(sound, draws=np.int64(2**40), judged=(counts,), evidence=evident)
    data = json.loads(evidence.to_text(evidence.document((result,), replay="")))["results"][0]
    for number in (data["draws"], data["seed"], *data["evidence"]["counts"][0]["hits"]):
        assert type(number) is int
    assert data["draws"] == 2**40


def test_evidence_holds_nothing_that_follows_from_its_counts(refuted):
    """What is derived stands apart, for other programs, and is compared when it is replayed."""
    derived = set(FindingRecord.__annotations__) - {"hits", "trials", "level"}  # a count has those

    def keys(value):
        if isinstance(value, dict):
            yield from value
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, dict | list):
                yield from keys(inner)

    record = evidence.document((refuted,), replay="")["results"][0]
    assert not derived & set(keys(record))


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
    ('{"schema": "dpwitness/1", "results": []}', "this version reads"),
    ('{"schema": "dpwitness/2", "results": []}', "no results"),
    ('{"schema": "dpwitness/2", "results": [1]}', r"results\[0\] must be an object"),
    ('{"schema": "dpwitness/2", "results": [{}]}', "mechanism is missing"),
    ('{"schema": "dpwitness/2", "schema": "dpwitness/2"}', "occurs twice"),
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
    (("claim", "relation"), "near", "must be one of"),
    (("remark",), ["refuted"], "must be a string"),
    (("seed",), -1, "whole number"),
    (("seed",), True, "whole number"),
    (("seed",), 1.5, "whole number"),
    (("seeded",), 1, "true or false"),
    (("evidence", "counts"), {}, "must be a list"),
    (("evidence", "counts"), [1], "must be an object"),
    (("evidence", "counts", 0, "hits"), [1, 2, 3], r"hits must be a list of length <= 2"),
    (("plan",), None, "must be an object"),
    (("sketch", "inside"), [1], r"inside\[0\] must be true or false"),
    (("evidence", "counts"), [{}], r"counts\[0\]\.\w+ is missing"),
    (("learning",), {"draws": "many"}, "draws must be a whole number"),
    (("smaller",), {"database": [0]}, r"smaller\.\w+ is missing"),
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
