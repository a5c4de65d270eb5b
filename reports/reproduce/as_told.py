"""A run of reproduce in the one form that every output format is made from."""

from collections.abc import Iterator

from ...auditors.results.results import Verdict
from ..faces import claim_faces
from ..formats.statements_as_json import document
from ..formats.told import Case, Reason, Told, ToldClaim
from ..gallery.names import plain_names
from ..statements.sections import Gallery, Reproduction, Section
from .as_table import settings_words


def told_of(gallery: Gallery) -> Told:
    """Each statement as a case; a verdict that was not the expected one is a reason."""

    def page() -> str:
        from ..gallery.page import gallery_page

        names = plain_names(section.identifier for section in gallery.sections)
        return gallery_page(gallery, names, alone=True)

    return Told(
        command="reproduce",
        cases=tuple(_case(section, gallery.command) for section in gallery.sections),
        reasons=tuple(
            Reason(
                kind="unexpected",
                name=section.identifier,
                sentence=_sentence(section, one),
                claim=_claimed(one, setting),
            )
            for section in gallery.sections
            for one, setting in _with_settings(section)
            if not one.as_expected
        ),
        closing=f"alpha {gallery.alpha:g} for all true statements, seed {gallery.seed}. Not "
        "refuted is not proved.",
        document=document(gallery),
        page=page,
    )


def _case(section: Section, command: str) -> Case:
    return Case(
        name=section.identifier,
        target=section.identifier,
        judged=tuple(
            _judged(section, one, setting, command) for one, setting in _with_settings(section)
        ),
    )


def _with_settings(section: Section) -> Iterator[tuple[Reproduction, str]]:
    settings = settings_words(section.reproductions) or [""] * len(section.reproductions)
    return zip(section.reproductions, settings, strict=True)


def _claimed(one: Reproduction, setting: str) -> str:
    return claim_faces.bound_phrase(one.result) + (f" at {setting}" if setting else "")


def _judged(section: Section, one: Reproduction, setting: str, command: str) -> ToldClaim:
    result = one.result
    measured = claim_faces.measured_phrase(result) or claim_faces.exact_phrase(result)
    return ToldClaim(
        mechanism=section.identifier,
        claim=_claimed(one, setting),
        verdict=result.verdict.value,
        bound=measured,
        power="",
        draws=result.finding.draws,
        seconds=result.seconds,
        scope=result.finding.scope if result.verdict is Verdict.PROVED else "",
        story=(*claim_faces.story(result), ("replay", command)),
        facts={
            "verdict": result.verdict.value,
            "expected_verdict": one.expected.value,
            "claimed": repr(float(result.finding.claimed)),
            "draws": str(result.finding.draws),
            "seed": str(result.seed),
        },
    )


def _sentence(section: Section, one: Reproduction) -> str:
    said = one.result.verdict.value.replace("_", " ")
    wanted = one.expected.value.replace("_", " ")
    if section.asked:
        return f"{section.identifier} is {said}"
    return f"{section.identifier} is {said}, and was expected to be {wanted}"
