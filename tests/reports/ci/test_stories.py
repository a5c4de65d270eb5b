"""Each reason of a run is told with the story of the claim that it is about."""

from dpwitness.reports.formats.told import Case, Reason, Told, ToldClaim


def judged(claim, verdict="refuted"):
    return ToldClaim(
        mechanism="m", claim=claim, verdict=verdict, bound="", power="", draws=1, seconds=0.0,
        story=(("event", claim),),
    )  # fmt: skip


def test_two_refuted_claims_of_an_entry_have_stories_of_their_own():
    claims = ("epsilon 1", "rho 0.125")
    case = Case(name="m", target="m", judged=(judged("mu 1", "not_refuted"), *map(judged, claims)))
    reasons = tuple(Reason(kind="refuted", name="m", sentence="", claim=one) for one in claims)
    told = Told(
        command="gate", cases=(case,), reasons=reasons, closing="", document={}, page=lambda: ""
    )
    assert [told.story_of(one) for one in reasons] == [(("event", one),) for one in claims]
    unnamed = Reason(kind="refuted", name="m", sentence="")
    assert told.story_of(unnamed) == (("event", "epsilon 1"),)
    assert told.story_of(Reason(kind="refuted", name="other", sentence="")) == ()
