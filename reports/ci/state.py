"""What a pytest run knows of its audits. The gate reads it too, so nothing of pytest is here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from ...auditors.evidence.record import Number, ResultRecord
from ..settings.settings import Settings
from .ledger import Lock

PROPERTY = "dpwitness"
"""The user property of a test that carries the records of its audits to the controller."""


class Line(TypedDict):
    """What the controller tells of one audit, also a property of the JUnit file."""

    number: int
    mechanism: str
    claim: str
    verdict: str
    epsilon_lower: Number
    bound: str
    claimed: float
    detectable_epsilon: Number
    draws: int
    seconds: float
    alpha: float
    p_value: float
    seed: int
    target: str
    note: str
    old_witness: str
    scope: NotRequired[str]


@dataclass(slots=True)
class Run:
    """What one pytest process knows of the run.

    `records`, `crashed` and `raised` grow in the controller.
    """

    settings: Settings
    seed: int
    refusal: str = ""
    report: Path | None = None
    lock: Lock | None = None
    weights: dict[str, float] = field(default_factory=dict)
    records: dict[tuple[str, int], Line] = field(default_factory=dict)
    crashed: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    added: set[tuple[str, int]] = field(default_factory=set)
    history: list[tuple[str, ResultRecord]] = field(default_factory=list)
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """What one test may spend: its part of alpha, the audits it announced, its own budget."""

    alpha: float
    audits: int
    budget: dict[str, Any]
