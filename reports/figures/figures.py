"""Which pictures a theorem gets: those of its kind of claim, and others for some by name."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from ...auditors.claims.check import subject_of
from ...mechanisms.model import Theorem
from ..faces.claim_faces import FACES, Draw
from ..reproduce.sections import Picture, Reproduction
from ..reproduce.statements import Statement
from .boosting_figures import (
    agreement_figure,
    favoured_potential_figure,
    potential_fall_figure,
    ratio_figure,
)
from .descent_figures import balanced_bound, excess_figure, noisy_excess_figure, printed_bound
from .marks import Drawn, picture
from .sweep_figures import sweep_figure, swept_parameter
from .weights_figures import answers_figure, gaps_figure, potential_figure, updates_figure

BY_NAME: Mapping[str, Draw] = MappingProxyType(
    {
        "GD-T1": partial(excess_figure, balanced_bound),
        "ERR-GD-2": partial(excess_figure, printed_bound),
        "GD-T2": noisy_excess_figure,
        "PMW-ACC-EVENT": answers_figure,
        "PMW-GAP": gaps_figure,
        "PMW-KL-3": partial(potential_figure, 1 / 64, "α²/64"),
        "PMW-KL-3S": partial(potential_figure, 15 / 512, "15 α²/512"),
        "ERR-PMW-4": partial(potential_figure, 1.0, "α²"),
        "PMW-UPD": partial(updates_figure, 64.0, "64 ln(bins)/α²"),
        "BQ-ATT": agreement_figure,
        "BQ-APM": agreement_figure,
        "ERR-BQ-1": agreement_figure,
        "BQ-POT": potential_fall_figure,
        "ERR-BQ-4": favoured_potential_figure,
        "BQ-6.4": ratio_figure,
        "ERR-PMW-5": partial(updates_figure, 1.0, "ln(bins)/α²"),
    }
)


def pictures_of(
    theorem: Theorem, reproductions: Sequence[Reproduction], *, seed: int
) -> tuple[Picture, ...]:
    """The pictures of a theorem checked at one or several settings.

    Several settings make a family in one picture; the others are of the setting nearest to the
    defaults. Fresh draws for a picture are made with `seed` on streams no check uses, so the
    same results give the same bytes.
    """
    drawn: list[Drawn] = []
    swept = swept_parameter(reproductions)
    if swept is not None:
        drawn.append(sweep_figure(theorem, reproductions, swept))
    drawn += _drawn(_statement(theorem, _middle(theorem, reproductions), seed))
    prefix = re.sub(r"[^A-Za-z0-9-]", "_", theorem.identifier)
    return tuple(picture(one, prefix=prefix) for one in drawn)


def _middle(theorem: Theorem, reproductions: Sequence[Reproduction]) -> Reproduction:
    """The setting with most of its parameters at their defaults, the first of several."""

    def at_default(one: Reproduction) -> int:
        return sum(
            one.parameters.get(name, parameter.default) == parameter.default
            for name, parameter in theorem.parameters.items()
        )

    return max(reproductions, key=at_default)


def _statement(theorem: Theorem, reproduction: Reproduction, seed: int) -> Statement:
    defaults = {name: parameter.default for name, parameter in theorem.parameters.items()}
    parameters = {**defaults, **reproduction.parameters}
    return Statement(
        theorem=theorem,
        parameters=parameters,
        result=reproduction.result,
        subject=subject_of(theorem, reproduction.parameters),
        seed=seed,
    )


def _drawn(statement: Statement) -> list[Drawn]:
    result = statement.result
    draws = FACES[result.kind].pictures(result)
    if (special := BY_NAME.get(statement.theorem.identifier)) is not None:
        draws = (special, *draws)
    return [one for draw in draws if (one := draw(statement)) is not None]
