"""DataSynthesizer: descriptions of one column whose categories are given, at epsilon 1."""

import contextlib
import io
import json
import tempfile
from pathlib import Path

from DataSynthesizer.DataDescriber import DataDescriber

FOLDER = Path(tempfile.mkdtemp())
DOMAIN = FOLDER / "domain.json"
DOMAIN.write_text(json.dumps({"answer": ["no", "yes"]}))
TABLE = FOLDER / "table.csv"


def described(answers, seed):
    """What the package writes about the column; an answer may be missing (None)."""
    rows = [f"{i},{answer or ''}" for i, answer in enumerate(answers)]
    TABLE.write_text("\n".join(["row,answer", *rows]) + "\n")
    describer = DataDescriber()
    with contextlib.redirect_stdout(io.StringIO()):
        describer.describe_dataset_in_independent_attribute_mode(
            str(TABLE),
            epsilon=1.0,
            attribute_to_datatype={"row": "Integer", "answer": "String"},
            attribute_to_is_categorical={"row": False, "answer": True},
            attribute_to_is_candidate_key={"row": True, "answer": False},
            categorical_attribute_domain_file=str(DOMAIN),
            numerical_attribute_ranges={"row": [0, 100]},
            seed=seed,
        )
    return describer.data_description["attribute_description"]["answer"]


def as_it_comes(answers, rng):
    return described(answers, 0)["distribution_probabilities"]


def missing_rate(answers, rng):
    return described(answers, int(rng.integers(2**32)))["missing_rate"]


def distribution(answers, rng):
    return described(answers, int(rng.integers(2**32)))["distribution_probabilities"]
