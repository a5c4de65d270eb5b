"""Values of types that another process has and this one has not, taken apart there.

Such a value says of which type it was and holds what `kinds` would read of it, so that it is
packed, named and judged as it would have been in this process. A type is a name and nothing is
looked up under it.
"""

from functools import lru_cache
from typing import Any, ClassVar

from ..errors import EvidenceFormatError

HOWS = (
    "object", "record", "list", "mapping", "set", "array", "float", "int", "text", "printed", "all",
)  # fmt: skip
"""What the content is: (role, name, value) of each part for objects and records; items for lists
and sets, (key, value) pairs for mappings; an array; a number, of many digits in hexadecimal;
(text, length) for the rest, of values that are only printed, or not looked at."""


class Foreign:
    """A value of another process; subclasses say of which type it was and how it was read."""

    __slots__ = ("content",)
    told: ClassVar[str]
    how: ClassVar[str]

    def __init__(self, content: Any) -> None:
        """`content` is nobody else's."""
        self.content = content

    def __reduce__(self) -> tuple[Any, ...]:
        """The type is made anew in another process."""
        return foreign, (self.told, self.how, self.content)

    def __deepcopy__(self, _: Any) -> "Foreign":
        """Nobody can change it."""
        return self

    @property
    def parts(self) -> dict[Any, Any]:
        """The steps of an object with what is there."""
        return {(role, name): value for role, name, value in self.content}


def foreign(told: Any, how: Any, content: Any) -> Foreign:
    """A value of the type named `told`; EvidenceFormatError for content of another form."""
    if not isinstance(told, str) or how not in HOWS or not _fits(how, content):
        raise EvidenceFormatError(
            f"a value of another process is a type's name, one of {', '.join(HOWS)}, and what it "
            f"holds, got {told!r:.60}, {how!r:.20} and {content!r:.80}"
        )
    if how == "int":
        content = int(content, 16) if isinstance(content, str) else content
    return _type(told, how)(tuple(content) if how in ("text", "printed", "all") else content)


def _fits(how: str, content: Any) -> bool:
    if how in ("float", "int"):
        return type(content) is float if how == "float" else type(content) in (int, str)
    if how == "array":
        return hasattr(content, "dtype")
    if not isinstance(content, list):
        return False
    if how in ("object", "record"):
        return all(
            isinstance(part, list) and len(part) == 3 and part[0] in ("key", "field", "member")
            and isinstance(part[1], str) for part in content
        )  # fmt: skip
    if how == "mapping":
        return all(isinstance(pair, list) and len(pair) == 2 for pair in content)
    if how in ("list", "set"):
        return True
    return len(content) == 2 and isinstance(content[0], str) and isinstance(content[1], int)


@lru_cache(maxsize=4096)
def _type(told: str, how: str) -> type[Foreign]:
    return type("Foreign", (Foreign,), {"__slots__": (), "told": told, "how": how})
