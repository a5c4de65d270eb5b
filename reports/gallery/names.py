"""Names for files and anchors, made from identifiers."""

import re
from collections.abc import Iterable

LONGEST = 80


def plain_names(identifiers: Iterable[str]) -> dict[str, str]:
    """A name of letters, digits, dot, dash and underscore for each identifier, none twice.

    A star is written out, so that "T-COMP-HET*" is T-COMP-HET-star. Names differ even where
    capital and small letters are one.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for identifier in identifiers:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", identifier.replace("*", "-star"))
        # A letter first: no hidden file, no name of a device, no anchor a browser reads otherwise.
        name = name if re.match(r"[A-Za-z][A-Za-z0-9]*-", name) else f"S-{name.lstrip('.')}"
        name, trial, count = name[:LONGEST], name[:LONGEST], 1
        while trial.lower() in taken:
            count += 1
            trial = f"{name}-{count}"
        taken.add(trial.lower())
        found[identifier] = trial
    return found
