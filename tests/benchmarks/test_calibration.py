"""The page of calibration is what the kept files say, and the files keep the promise."""

import importlib.util
from pathlib import Path

import pytest
from scipy.special import bdtrc

PLACE = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    spec = importlib.util.spec_from_file_location("calibration", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_written_from_the_files(calibration):
    assert calibration.PAGE.read_text("utf-8") == calibration.page()


@pytest.mark.parametrize("table", ["alarms", "claims"])
def test_no_subject_is_refuted_more_often_than_alpha_allows(calibration, table):
    cells = {}
    for line in calibration.read(table):
        cell = cells.setdefault((line["subject"], line["alpha"], line["trials"]), [0, 0])
        cell[0] += int(line["refuted"])
        cell[1] += int(line["runs"])
    assert cells
    for (subject, alpha, _), (refuted, runs) in cells.items():
        if refuted:
            # Were every cell exactly at alpha, all of them together would fail so with 1e-4.
            assert bdtrc(refuted - 1, runs, float(alpha)) > 1e-4 / len(cells), subject


def test_no_seed_of_a_subject_is_counted_twice(calibration):
    for table in calibration.TABLES:
        seen = set()
        for line in calibration.read(table):
            cell = tuple(line[name] for name in ("subject", "planted", "alpha", "trials"))
            start = int(line["seed"])
            new = {(cell, seed) for seed in range(start, start + int(line["runs"]))}
            assert not new & seen
            seen |= new
