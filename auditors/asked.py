"""What a person may ask of an audit, each argument declared once, and the budget that is asked for.

A keyword in Python, an option of the command line, a setting of a project and an argument of the
pytest fixture are one thing in four places: its default, the values that can be used and its
sentences stand here, and the places read them. Nothing heavy is imported, so that a command line
that only shows its help starts at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, get_args

from .errors import InvalidArgument

Neighbours = Literal["add-remove", "replace-one", "declared"]
"""The names of `Relation`, as every door takes them; an editor underlines any other."""
RELATIONS = tuple(word for word in get_args(Neighbours) if word != "declared")
"""Those that say what neighbours differ in."""
Kind = Literal["number", "whole", "precision", "text", "texts", "word", "words", "pair", "flag"]
LARGEST = 2**63
"""No whole number or time above it means anything."""
LEAST_ALPHA = 1e-100
"""The smallest error probability: its parts, and the tails of laws at them, are still doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of `audit` and of what is near it.

    `keyword` says what it is in Python's documentation and `option` on the command line, whose
    option has the argument's name with "-" and takes a value of this `kind` or one of `words`; an
    argument without `option` is one of Python alone. `valid` holds for the values of its type that
    can be used, which `expected` names; `remedy` says what to do about another.
    """

    keyword: str
    option: str = ""
    kind: Kind = "text"
    words: tuple[str, ...] = ()
    metavar: str = ""
    default: Any = None
    valid: Callable[[Any], bool] | None = None
    expected: str = ""
    remedy: str = ""

    def allows(self, value: object) -> bool:
        """Whether a value can be used: None always means that nobody gave it."""
        if value is None or self.valid is None:
            return True
        if isinstance(value, bool):
            return False
        try:
            return bool(self.valid(value))
        except (TypeError, ValueError, OverflowError):
            return False


def _whole(least: int) -> Callable[[float], bool]:
    return lambda value: least <= value < LARGEST and value == int(value)


def _time(value: float) -> bool:
    return 0 < value < LARGEST


ASKED: Mapping[str, Argument] = {
    "mechanism": Argument(
        keyword="A function f(database, rng) or f(database, rng, *, size=None), a `Mechanism`, or "
        "the text that names one, such as file.py:function or a name of the catalogue.",
    ),
    "epsilon": Argument(
        kind="number",
        keyword="The claimed privacy loss in nats; by default the mechanism's own claims.",
        option="Claimed epsilon, in nats.",
        valid=lambda value: isfinite(value) and value >= 0,
        expected="finite and at least 0",
    ),
    "delta": Argument(
        kind="number",
        keyword="The probability with which the loss may be larger than epsilon.",
        option="Claimed delta  [default: 0]",
        valid=lambda value: 0 <= value < 1,
        expected="from 0 to below 1",
    ),
    "mu": Argument(
        kind="number",
        keyword="In place of epsilon: Gaussian differential privacy with this parameter is "
        "claimed.",
        option="Claimed mu of Gaussian differential privacy.",
    ),
    "rho": Argument(
        kind="number",
        keyword="In place of epsilon: zero-concentrated differential privacy; with delta "
        "approximate.",
        option="Claimed rho of zCDP (with --delta: approximate zCDP).",
    ),
    "renyi": Argument(
        kind="texts",
        metavar="ALPHA:EPSILON",
        keyword="In place of epsilon: one or several (alpha, epsilon) of Renyi differential "
        "privacy.",
        option="Claimed Renyi divergence; may be repeated.",
    ),
    "curve": Argument(
        metavar="FILE",
        keyword="In place of epsilon: several (epsilon, delta) that are claimed at once, or an "
        "accountant of dp_accounting, jax_privacy or Opacus, or a function of delta, that tells "
        "them.",
        option="Several claimed (epsilon, delta) that hold together: JSON, CSV, or an accountant "
        "or a function of delta, file.py:NAME.",
    ),
    "relation": Argument(
        kind="word",
        words=get_args(Neighbours),
        keyword="What neighbouring databases differ in: "
        f"""{", ".join(f'"{word}"' for word in RELATIONS)} or "declared".""",
        option="How neighbouring databases differ; declared: as the pairs you give do.",
    ),
    "distance": Argument(
        kind="whole",
        keyword="How many records they differ in, 1 unless said; epsilon is for one step.",
        option="Steps between the databases  [default: 1]",
        valid=_whole(1),
        expected="a whole number from 1",
    ),
    "databases": Argument(
        metavar="FILE.py:NAME",
        keyword="A Hypothesis strategy of databases or of `Pair`, a domain, or a table.",
        option="A Hypothesis strategy of databases or pairs, or a Domain object (also "
        "PKG.MOD:NAME); a table, people.csv or people.parquet[:pandas], whose rows are taken out, "
        "replaced or added; or a schema, people.json. docs/databases.md has all forms.",
    ),
    "pair": Argument(
        kind="pair",
        keyword="Two databases in place of a search; only these are judged.",
        option="The two databases; skips the search.",
    ),
    "histogram": Argument(
        kind="flag",
        default=False,
        keyword="Whether the lists of `pair` count records, one number for each bin.",
        option="The lists of --pair count records, bin by bin.",
    ),
    "trials": Argument(
        kind="whole",
        default=200_000,
        keyword="Runs per database of the pair that decides; never more than 4 times as many in "
        "all.",
        option="Runs per database of the deciding pair",
        valid=_whole(2),
        expected="a whole number from 2",
    ),
    "notice": Argument(
        kind="number",
        keyword="In place of trials: as many as detect a loss of so many times the claim (`plan`).",
        option="Choose --trials to detect a loss of this many times the claim.",
        valid=lambda value: 1 < value <= 1000,
        expected="a number above 1, such as 1.2",
    ),
    "seconds": Argument(
        kind="number",
        keyword="Wall-clock time for everything; the number of runs then depends on the machine.",
        option="Wall-clock budget for the whole audit.",
        valid=_time,
        expected="a positive number",
    ),
    "precision": Argument(
        kind="precision",
        metavar="SHARE|none",
        default=0.05,
        keyword="When to stop once the claim is refuted: 0.05 when the bound is known to 5 %, "
        "None at once, 0 when all trials are used.",
        option="Once refuted, stop at this relative precision of the bound; none: at once; "
        "0: use all trials",
        valid=lambda value: value in ("none", 0) or 1e-6 <= value < 1,
        expected="none, 0 or a share from 1e-6 to below 1",
        remedy="0.05 stops when the bound is known to 5 %, none as soon as the claim is refuted, 0 "
        "when all trials are used",
    ),
    "alpha": Argument(
        kind="number",
        default=1e-3,
        keyword="The probability of refuting any true claim in this call is at most this.",
        option="False-alarm probability",
        valid=lambda value: LEAST_ALPHA <= value < 0.5,
        expected=f"a number from {LEAST_ALPHA} to below 0.5",
    ),
    "seed": Argument(
        kind="whole",
        default=0,
        keyword="Decides all randomness: the same seed gives the same bits for any number of "
        "workers.",
        option="Random seed.",
        valid=_whole(0),
        expected="a whole number from 0",
    ),
    "workers": Argument(
        kind="whole",
        default=1,
        keyword="Processes that make the runs.",
        option="Processes to run the mechanism in",
        valid=_whole(1),
        expected="a whole number from 1",
    ),
    "seeded": Argument(
        keyword="False declares a mechanism that ignores the generator it is given."
    ),
    "timeout": Argument(
        kind="number",
        default=10.0,
        keyword="The longest that one call may take, in seconds.",
        option="Seconds one call may take",
        valid=_time,
        expected="a positive number",
    ),
    "progress": Argument(keyword="Called with (stage, done, total) while runs are made."),
    "news": Argument(
        keyword='Called with ("plan", what slow calls can show in `seconds`) before any is judged, '
        'and with ("known", what is known so far).',
    ),
    "kept": Argument(
        keyword="Called with the `KeptDraws` of a slow mechanism if the audit ends before its "
        "verdict; their `text()` is a file for `dpwitness judge`.",
    ),
    "target": Argument(keyword="The text that names the mechanism in reports and replay commands."),
    "name": Argument(keyword="What the mechanism is called in reports."),
    "exceptions": Argument(
        kind="word",
        words=("error", "output"),
        default="error",
        keyword='"output" makes the type of what a call raises its output; with "error" an '
        "exception ends the audit.",
        option="Treat a call that raises as a failure (error) or as an output",
    ),
    "attacker": Argument(
        kind="words",
        words=("values", "bits", "types", "clock"),
        default="values",
        keyword='What is judged of the outputs: their "values", also the "bits" of their numbers, '
        'or also their Python "types".',
        option="What the attacker observes: values, bits of floats, Python types or the running "
        "time; repeatable",
    ),
    "show_output": Argument(
        kind="flag",
        default=False,
        keyword="Whether what the mechanism prints is shown.",
        option="Show what the mechanism prints.",
    ),
    "trust_rows": Argument(
        kind="flag",
        keyword="True declares that the rows of a size= call are independent single calls, so "
        "that they are counted; by default they only help to search.",
        option="Trust that the outputs of one size= call are independent: count them.",
    ),
    "in_process": Argument(
        kind="flag",
        default=False,
        keyword="Call the mechanism in this process, for a debugger; no run is made again.",
        option="Call the mechanism in this process, for a debugger; no run is repeated.",
    ),
    "explain": Argument(
        kind="flag",
        default=False,
        keyword="Name the lines of the mechanism that spend the loss, as `cause`; None does so if "
        "the claim is refuted.",
        option="Name the lines that spend the loss; an HTML page does so if a claim is refuted.",
    ),
    "exact": Argument(
        keyword="Enumerate the exact laws of discrete randomness: True asks for them, None tries "
        "where it costs little, False leaves them out.",
    ),
    "engine": Argument(keyword="An `Engine` that says where runs are made; it changes no count."),
}
"""Every argument of a request."""

KEYWORDS: Mapping[str, str] = {name: one.keyword for name, one in ASKED.items()}
"""Every argument in a sentence, for the documentation of all functions of a request."""


def default(name: str) -> Any:
    """The value that an argument has if nobody gives it."""
    return ASKED[name].default


def require(**values: object) -> None:
    """Reject, with the number and what was expected, a value that cannot be used.

    None is allowed here: nobody gave it. Raises InvalidArgument.
    """
    for name, value in values.items():
        one = ASKED[name]
        if not one.allows(value):
            remedy = f"; {one.remedy}" if one.remedy else ""
            raise InvalidArgument(f"{name} must be {one.expected}, got {value!r}{remedy}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one call of the auditor may spend, passed whole from the caller to the last step.

    `alpha` bounds the probability of refuting any true claim. `trials` is the number of draws a
    side for the pair that decides, learning included; searching and shrinking may add as many
    again, so that an audit never makes more than 4 times `trials` draws a side. `seed` decides all
    randomness. `precision` says when to stop once the claim is refuted: None at once, a share such
    as 0.05 when the bound is known to this part of itself, 0 when all trials are used.
    `seconds` is a wall-clock limit for everything.

    Raises InvalidArgument for a number outside its range.
    """

    alpha: float = default("alpha")
    trials: int = default("trials")
    seed: int = default("seed")
    precision: float | None = default("precision")
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Reject numbers outside their range, naming the number."""
        require(alpha=self.alpha, trials=self.trials, seed=self.seed, precision=self.precision,
                seconds=self.seconds)  # fmt: skip

    @property
    def searching(self) -> int:
        """Most outputs, of both sides, that the search for a pair may draw."""
        return 4 * self.trials

    @property
    def deciding(self) -> int:
        """Most outputs, of both sides, drawn from the pair that decides, to learn and to count."""
        return 2 * self.trials

    @property
    def shrinking(self) -> int:
        """Most outputs, of both sides, drawn to find a smaller pair and to count it."""
        return 2 * self.trials

    @property
    def everything(self) -> int:
        """Most outputs, of both sides, that the whole audit may draw."""
        return self.searching + self.deciding + self.shrinking
