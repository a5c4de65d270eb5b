"""The ways an audit can end without a verdict.

    DpWitnessError
     +-- InvalidArgument       a request that makes no sense; nothing was run
     |    +-- UnknownArgument    a keyword that the function does not take
     |    +-- UnsupportedClaim   a claim this auditor cannot judge
     +-- EvidenceFormatError   an evidence file that is not what it says
     +-- ContractError         the mechanism broke the contract or failed
     |    +-- MechanismHangs     a call did not come back in time
     +-- EngineError           the processes or machines that should draw cannot be had
     +-- HarnessError          two methods that must agree do not; the tool or a claim is wrong

Every message is one sentence that says what was expected, what came and what to do.
"""

import os
import re
import sys
from collections.abc import Callable
from traceback import walk_tb
from types import TracebackType


class DpWitnessError(Exception):
    """Base of every error dpwitness raises on purpose.

    The sentence names a keyword as Python writes it: `epsilon=`, `relation="add-remove"`.
    `keywords` are those it names so, for a face whose user knows them by other names, as the
    command line does.
    """

    def __init__(self, sentence: str, *, keywords: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.keywords = keywords

    def spelled(self, spell: Callable[[str, str], str]) -> str:
        """The sentence with each of its keywords and its value, if any, as `spell` writes them."""
        text = str(self)
        for name in self.keywords:
            text = re.sub(
                rf'\b{name}=("([^"]*)"|[\w.]*)',
                lambda found, name=name: spell(name, found[2] or found[1]),  # type: ignore[misc]
                text,
            )
        return text


class InvalidArgument(DpWitnessError, ValueError):
    """An argument outside what the documentation allows; correct it and call again."""


class UnknownArgument(InvalidArgument, TypeError):
    """A keyword that the function does not take, or too many or too few arguments."""


class UnsupportedClaim(InvalidArgument):
    """A kind of claim the auditor has no method for."""


class EvidenceFormatError(DpWitnessError, ValueError):
    """An evidence file that cannot be read as one; it may be damaged or from elsewhere."""


class ContractError(DpWitnessError):
    """The mechanism raised, changed its input, or was not a function of (database, rng)."""


class MechanismHangs(ContractError):
    """One call of the mechanism took longer than the time limit."""


class MechanismDied(ContractError):
    """The process that ran the mechanism ended without an answer, several times in a row."""


class UsesOutside(ContractError):
    """The mechanism keeps something outside its process, where it outlives every fresh one."""


class EngineError(DpWitnessError):
    """An engine is not installed, does not answer, or went away before all was drawn."""


class HarnessError(DpWitnessError):
    """An exact and a sampled method contradict each other, or a claim contradicts itself."""


_HERE = os.path.dirname(os.path.abspath(__file__))
OWN = (_HERE, os.path.join(os.path.dirname(_HERE), "mechanisms", "model"))
"""Folders of code that calls strategies and the functions of claims, and is none."""


def raised_at(trace: TracebackType | None) -> str:
    """File and line of the innermost code that is neither ours, nor a library's, nor Python's."""
    found = ""
    for frame, line in walk_tb(trace):
        file = frame.f_code.co_filename
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        library = "site-packages" in file or (top in sys.stdlib_module_names and top != "__main__")
        if not library and not os.path.abspath(file).startswith(OWN):
            found = f"{os.path.basename(file)}:{line}"
    return found
