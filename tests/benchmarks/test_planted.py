"""The list of planted faults fits the mechanisms of today."""

import tomllib
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
FAULTS = tomllib.loads((HOME / "benchmarks" / "planted.toml").read_text("utf-8"))["fault"]


def test_each_fault_has_one_place_in_its_file():
    # A fault that is found nowhere could not be planted, one that is found twice is two faults.
    places = [
        (one["file"], one["old"], (HOME / "mechanisms" / one["file"]).read_text("utf-8"))
        for one in FAULTS
    ]
    assert len(places) > 400
    assert [(file, old) for file, old, text in places if text.count(old) != 1] == []
