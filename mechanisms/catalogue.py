"""Everything that can be named: mechanisms, theorems, negative controls, broken statements.

The tables are literal: the names of a thing and the module it is made in. A module is loaded when
something of it is asked for, so that one mechanism loads its chapter and what that stands on.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Generic, TypeVar, overload

from .model import BrokenStatement, Mechanism, NegativeControl, Theorem

Entry = TypeVar("Entry")
NamedEntry = TypeVar("NamedEntry", Mechanism, NegativeControl, BrokenStatement)


class Listed(Sequence[Entry], Generic[Entry]):
    """A part of the catalogue in its order; going through it loads all of its modules."""

    @abstractmethod
    def _load(self) -> Iterator[Entry]:
        """The entries, loaded one after the other."""

    @cached_property
    def _entries(self) -> tuple[Entry, ...]:
        return tuple(self._load())

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, place: int | slice) -> Entry | tuple[Entry, ...]:
        """The entry, or the entries, at a place."""
        return self._entries[place]

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)


class Named(Listed[NamedEntry]):
    """Entries by name. A row gives the names of one, the own one first, and its module."""

    def __init__(self, kind: type[NamedEntry], rows: Mapping[str, str]) -> None:
        self._kind: type[NamedEntry] = kind
        self._modules = {tuple(names.split()): module for names, module in rows.items()}

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The names of each entry; nothing is loaded."""
        return tuple(self._modules)

    @property
    def systems(self) -> Mapping[str, str]:
        """The system of each entry, by its own name; nothing is loaded."""
        return {names[0]: _system(module) for names, module in self._modules.items()}

    def entry(self, name: str) -> NamedEntry:
        """The entry whose own name this is; loads the module it is made in. KeyError for none."""
        for names, module in self._modules.items():
            if names[0] == name:
                return self._made(name, module)
        raise KeyError(name)

    def _made(self, name: str, module: str) -> NamedEntry:
        for value in vars(import_module(f".{module}", __package__)).values():
            if isinstance(value, self._kind) and own_name(value) == name:
                return value
        raise KeyError(f"{module} makes no {self._kind.__name__} called {name}")

    def _load(self) -> Iterator[NamedEntry]:
        return (self._made(names[0], module) for names, module in self._modules.items())


class _Theorems(Listed[Theorem]):
    """The THEOREMS of every module named, part by part."""

    def __init__(self, parts: Mapping[str, Sequence[str]]) -> None:
        self._parts = parts

    @property
    def systems(self) -> Mapping[str, str]:
        """The system of each theorem, by its identifier; loads them all."""
        return {
            theorem.identifier: _system(module)
            for modules in self._parts.values()
            for module in modules
            for theorem in import_module(f".{module}", __package__).THEOREMS
        }

    def _load(self) -> Iterator[Theorem]:
        for part, modules in self._parts.items():
            for module in modules:
                for theorem in import_module(f".{module}", __package__).THEOREMS:
                    yield replace(theorem, part=theorem.part or part)


def _system(module: str) -> str:
    """The system that a module belongs to, as it is written: sparse-vector."""
    return module.partition(".")[0].replace("_", "-")


def own_name(entry: Mechanism | NegativeControl | BrokenStatement) -> str:
    """What an entry is called; a negative control has the name of its mechanism."""
    match entry:
        case Mechanism():
            return entry.name
        case NegativeControl():
            return entry.mechanism.name
        case BrokenStatement():
            return entry.identifier


MECHANISMS = {
    "laplace T-LAP-3": "noise.laplace",
    "laplace-vector": "noise.laplace",
    "gaussian T-GAUSS": "noise.laplace",
    "grid-laplace": "noise.grid_laplace",
    "geometric": "noise.geometric",
    "randomized-response": "noise.randomized_response",
    "leaky-response": "noise.randomized_response",
    "composed": "composition.composed",
    "drill-down": "composition.composed",
    "budgeted-stream COMP-FILTER": "composition.composed",
    "exponential EM-3.10": "selection.exponential",
    "exponential-monotone EM-MONO": "selection.exponential",
    "exponential-auction EM-3.5": "selection.exponential",
    "report-noisy-max EM-RNM": "selection.report_noisy_max",
    "report-gumbel-max EM-3.13a": "selection.report_noisy_max",
    "one-sided-noisy-arg-max EM-OSNM": "selection.report_noisy_max",
    "permute-and-flip EM-3.13b": "selection.report_noisy_max",
    "above-threshold": "sparse_vector.above_threshold",
    "sparse-vector": "sparse_vector.above_threshold",
    "sparse-vector-session SVT-SESSION": "sparse_vector.sparse_vector_variants",
    "numeric-sparse-vector": "sparse_vector.sparse_vector_variants",
    "pmw-iteration PMW-ITER": "multiplicative_weights.pmw",
    "private-multiplicative-weights PMW-PRIV": "multiplicative_weights.pmw",
    "pmw-session PMW-SESSION": "multiplicative_weights.pmw_session",
    "base-synopsis BQ-BASE-PRIV": "boosting.boosting",
    "noisy-sampled-answers": "boosting.boosting",
    "boosting BQ-6.1-PRIV": "boosting.boosting",
    "interior-point PAC-IP-EM": "interior_points.interior_point",
    "rec-concave PAC-IP-REC": "interior_points.interior_point",
    "boxes PAC-BOX-PRIV": "interior_points.boxes",
    "boxes-counted PAC-BOX-TEST": "interior_points.boxes",
    "finite-class-thresholds PAC-EML": "learning.finite_class",
    "finite-class-boxes": "learning.finite_class",
    "noisy-conjunction CONJ-P1": "learning.conjunctions",
    "noisy-gradients GD-PRIV-COORD": "gradient_descent.noisy_gradient_descent",
    "noisy-gradient-descent GD-PRIV-L2": "gradient_descent.noisy_gradient_descent",
    "vector-sum GD-T3": "gradient_descent.vector_sum",
    "greedy-conjunction CONJ-P2-PRIV": "learning.greedy_conjunctions",
    "sampled-query BQ-6.4": "boosting.query_weights",
    "sampled-query-counts BQ-MU": "boosting.query_weights",
}

CONTROLS = {
    "EM-NAIVE": "selection.broken_selection",
    "exponential-naive-of-voters MUT-EM-1": "selection.broken_selection",
    "exponential-monotone-under-replacement MUT-EM-2": "selection.broken_selection",
    "EM-DDR MUT-EM-3": "selection.broken_selection",
    "exponential-worst-candidate MUT-EM-6": "selection.broken_selection",
    "exponential-overflow MUT-EM-7": "selection.broken_selection",
    "laplace-understated-sensitivity": "noise.broken_noise",
    "laplace-no-clipping": "noise.broken_noise",
    "laplace-inverted-scale": "noise.broken_noise",
    "laplace-shared-noise": "noise.broken_noise",
    "laplace-one-sided-noise": "noise.broken_noise",
    "laplace-empty-database-unnoised": "noise.broken_noise",
    "gaussian-tenth-too-narrow": "noise.broken_noise",
    "grid-laplace-answer-off-grid": "noise.broken_noise",
    "grid-laplace-rounding-unaccounted": "noise.broken_noise",
    "geometric-wrong-ratio": "noise.broken_noise",
    "geometric-truncated-to-data": "noise.broken_noise",
    "randomized-response-too-honest": "noise.broken_noise",
    "sparse-vector-noisy-query-released SVT-3": "sparse_vector.broken_above_threshold",
    "sparse-vector-unscaled-noise SVT-4": "sparse_vector.broken_above_threshold",
    "sparse-vector-no-query-noise SVT-5": "sparse_vector.broken_above_threshold",
    "sparse-vector-no-cut-off SVT-6": "sparse_vector.broken_above_threshold",
    "sparse-vector-session-unscaled-noise SVT-SESSION-4": "sparse_vector.broken_above_threshold",
    "sampled-query-unattenuated MUT-BQ-1": "boosting.broken_boosting",
    "sampled-query-counts-calibrated-with-beta MUT-BQ-5": "boosting.broken_boosting",
    "noisy-sampled-answers-noise-of-one MUT-BQ-8": "boosting.broken_boosting",
    "boxes-hull MUT-PAC-1": "interior_points.broken_boxes",
    "interior-point-doubled-weights MUT-PAC-2": "interior_points.broken_boxes",
    "interior-point-too-few-points MUT-PAC-3": "interior_points.broken_boxes",
    "boxes-unpadded MUT-PAC-4": "interior_points.broken_boxes",
    "boxes-calls-at-whole-budget MUT-PAC-6": "interior_points.broken_boxes",
    "boxes-unsorted MUT-PAC-5": "interior_points.broken_boxes",
    "advanced-composition-no-linear-term-and-half-root MUT-COMP-1": "composition.broken_composed",
    "advanced-composition-no-linear-term MUT-COMP-2": "composition.broken_composed",
    "advanced-composition-ones-for-twos MUT-COMP-3": "composition.broken_composed",
    "drill-down-budget-not-split": "composition.broken_composed",
    "budgeted-stream-charged-afterwards MUT-COMP-4": "composition.broken_composed",
    "noisy-conjunction-scale-of-one-count MUT-PAC-7": "learning.broken_conjunctions",
    "noisy-conjunction-zero-threshold MUT-PAC-8": "learning.broken_conjunctions",
    "greedy-conjunction-whole-budget MUT-PAC-9": "learning.broken_conjunctions",
    "greedy-conjunction-removes-satisfied MUT-PAC-11": "learning.broken_conjunctions",
    "greedy-conjunction-stops-without-negatives MUT-PAC-12": "learning.broken_conjunctions",
    "noisy-gradients-half-the-sensitivity MUT-GD-4": "gradient_descent.broken_gradient_descent",
    "noisy-gradients-noise-of-one-step MUT-GD-5": "gradient_descent.broken_gradient_descent",
    "noisy-gradients-reused-noise MUT-GD-6": "gradient_descent.broken_gradient_descent",
    "vector-sum-rows-not-clipped MUT-GD-7": "gradient_descent.broken_gradient_descent",
    "vector-sum-constant-one MUT-GD-8": "gradient_descent.broken_gradient_descent",
    "noisy-average MUT-GD-9": "gradient_descent.broken_gradient_descent",
    "noisy-gradient-variance-of-a-gaussian MUT-GD-10": "gradient_descent.broken_gradient_descent",
    "report-noisy-max-as-if-monotone MUT-EM-4": "selection.broken_noisy_max",
    "one-sided-noisy-arg-max-as-if-monotone": "selection.broken_noisy_max",
    "one-sided-noise-sold-as-gumbel MUT-EM-5": "selection.broken_noisy_max",
    "pmw-unnoised-comparisons MUT-PMW-1": "multiplicative_weights.broken_pmw",
    "pmw-answer-reuses-noise MUT-PMW-2": "multiplicative_weights.broken_pmw",
    "pmw-answers-below MUT-PMW-3": "multiplicative_weights.broken_pmw",
    "pmw-budget-of-one-noise MUT-PMW-4": "multiplicative_weights.broken_pmw",
    "pmw-noise-of-one-record MUT-PMW-8": "multiplicative_weights.broken_pmw",
    "pmw-direction-from-truth MUT-PMW-10": "multiplicative_weights.broken_pmw",
    "pmw-session-slow MUT-PMW-11": "multiplicative_weights.broken_pmw",
}

STATEMENTS = {
    "MUT-BQ-2": "boosting.broken_boosting",
    "MUT-BQ-3": "boosting.broken_boosting",
    "MUT-BQ-4": "boosting.broken_boosting",
    "MUT-BQ-6": "boosting.broken_boosting",
    "MUT-BQ-7": "boosting.broken_boosting",
    "MUT-BQ-9": "boosting.broken_boosting",
    "MUT-COMP-3-OPT": "composition.broken_composed",
    "MUT-PAC-10": "learning.broken_conjunctions",
    "MUT-PAC-10-SHARE": "learning.broken_conjunctions",
    "MUT-GD-1": "gradient_descent.broken_gradient_descent",
    "MUT-GD-2": "gradient_descent.broken_gradient_descent",
    "MUT-GD-3": "gradient_descent.broken_gradient_descent",
    "MUT-GD-3b": "gradient_descent.broken_gradient_descent",
    "MUT-GD-11": "gradient_descent.broken_gradient_descent",
    "MUT-PMW-5": "multiplicative_weights.broken_pmw",
    "MUT-PMW-6": "multiplicative_weights.broken_pmw",
    "MUT-PMW-7": "multiplicative_weights.broken_pmw",
    "MUT-PMW-9": "multiplicative_weights.broken_pmw",
}

PARTS = {
    "Laplace noise and composition": (
        "noise.theorems_noise",
        "composition.theorems_composition",
        "accounting.theorems_accounting",
    ),
    "Exponential mechanism and noisy arg-max": ("selection.theorems_selection",),
    "Sparse vectors": ("sparse_vector.theorems_sparse_vector",),
    "Boosting for queries": (
        "boosting.theorems_base_synopsis",
        "boosting.theorems_boosting_privacy",
    ),
    "Private learning": (
        "interior_points.theorems_boxes",
        "learning.theorems_learning",
        "learning.theorems_greedy_conjunctions",
        "interior_points.theorems_interior_point",
    ),
    "Gradient descent and vector noise": (
        "gradient_descent.theorems_gradient_descent",
        "gradient_descent.theorems_noisy_gradient_descent",
        "gradient_descent.theorems_vector_sum",
    ),
    "Private multiplicative weights": (
        "multiplicative_weights.theorems_pmw_accuracy",
        "multiplicative_weights.theorems_pmw_tails",
        "multiplicative_weights.theorems_pmw_privacy",
    ),
}

DEMO = ("laplace", "EM-NAIVE")
"""A sound mechanism and a broken one, for a first look."""

CATALOGUE = Named(Mechanism, MECHANISMS)
NEGATIVE_CONTROLS = Named(NegativeControl, CONTROLS)
BROKEN_STATEMENTS = Named(BrokenStatement, STATEMENTS)
THEOREMS = _Theorems(PARTS)
