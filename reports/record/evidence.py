"""What an audit found, as JSON that others can read and replay.

The public JSON schemas are generated from the types that the files are written and read by.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import msgspec

from ...auditors.evidence.conversion import claim_record, finding_of, record_of
from ...auditors.evidence.record import SCHEMA, Document
from ...auditors.results.results import AuditResult
from ...mechanisms.model import Claim, PrivacyClaim


def document(results: Sequence[AuditResult], *, replay: str | Sequence[str]) -> Document:
    """The whole evidence file as plain JSON data, with what follows; `schema` has its JSON schema.

    `replay` is the command that counts again, of all results or of each.
    """
    replays = [replay] * len(results) if isinstance(replay, str) else replay
    return {
        "schema": SCHEMA,
        "results": [
            record_of(one, replay=again) for one, again in zip(results, replays, strict=True)
        ],
        "findings": [finding_of(result) for result in results],
        "environment": environment(),
    }


def to_text(data: Mapping[str, object]) -> str:
    """Strict JSON text: no NaN or Infinity, ASCII only, one line break at the end."""
    # Python's own encoder takes four times as long for lines of their own.
    compact = json.dumps(data, allow_nan=False).encode("ascii")
    return msgspec.json.format(compact, indent=2).decode("ascii") + "\n"


def release() -> str:
    """The version of dpwitness that is installed."""
    try:
        return version("dpwitness")
    except PackageNotFoundError:
        return "unknown"


def environment() -> dict[str, str]:
    """The versions a number may depend on. No host name and no path."""
    import numpy
    import scipy

    return {
        "dpwitness": release(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def claim_to_json(claim: Claim) -> Mapping[str, object]:
    """A claim as JSON data; of claims other than privacy only what can be written down."""
    if isinstance(claim, PrivacyClaim):
        return claim_record(claim)
    words = {"identifier": claim.identifier, "statement": claim.statement}
    said = {key: text for key, text in words.items() if text}
    return {"kind": claim.kind, **said, "reference": claim.reference}


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, object]:
    """The JSON schema of an evidence file."""
    return schema_of(Document, "urn:dpwitness:schema:1", "dpwitness evidence, version 1")


def schema_of(document: type[object], identifier: str, title: str) -> dict[str, object]:
    """The JSON schema of a file whose whole content is of the type `document`."""
    (root,), parts = msgspec.json.schema_components((document,), ref_template="#/$defs/{name}")
    whole = parts.pop(root["$ref"].rpartition("/")[2])
    return {"$schema": DIALECT, "$id": identifier, **whole, "title": title, "$defs": parts}
