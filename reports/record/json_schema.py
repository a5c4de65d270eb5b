"""The public JSON schemas, generated from the types that the files are written and read by."""

import msgspec

from ...auditors.evidence.record import Document

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, object]:
    """The JSON schema of an evidence file."""
    return schema_of(Document, "urn:dpwitness:schema:1", "dpwitness evidence, version 1")


def schema_of(document: type[object], identifier: str, title: str) -> dict[str, object]:
    """The JSON schema of a file whose whole content is of the type `document`."""
    (root,), parts = msgspec.json.schema_components((document,), ref_template="#/$defs/{name}")
    whole = parts.pop(root["$ref"].rpartition("/")[2])
    return {"$schema": DIALECT, "$id": identifier, **whole, "title": title, "$defs": parts}
