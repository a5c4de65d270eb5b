"""Claims decided by exact laws: clients of local privacy, planted leaks, verdicts and replays."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import Pair, Verdict, audit, audit_claims, replay
from dpwitness.auditors.evidence.conversion import record_of, revived
from dpwitness.auditors.evidence.derive import p_value
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.privacy import run as privacy
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.tape import enumeration, exact
from dpwitness.auditors.tape.enumeration import Laws
from dpwitness.auditors.tape.exact import exact_pair
from dpwitness.mechanisms.model import Choices, PrivacyClaim, Relation, Rows
from dpwitness.mechanisms.noise.geometric import GEOMETRIC
from dpwitness.reports.faces import as_html, as_text, wording
from dpwitness.reports.record import evidence

E = math.e
EPSILON = 1.0
D = 5
"""Values that a client may hold."""
REPLACE = "replace-one"


def decide(run, epsilon=EPSILON, pair=(0, 1), delta=0.0, distance=1):
    """What the exact laws of a pair say; the mechanism is run and nothing is drawn."""
    claim = PrivacyClaim(
        epsilon=epsilon, delta=delta, relation=Relation.REPLACE_ONE, distance=distance
    )
    sampler = Sampler(run=run, seed=0)
    found = exact_pair(sampler, Pair(*pair), claim)
    sampler.door.close()
    return found


def remembering(draw):
    """The first answer for each database is kept, and the generator is asked at every call."""
    kept = {}
    return lambda value, rng: kept.setdefault(value, draw(value, rng))


@pytest.mark.parametrize(
    "draw", [lambda value, rng: response(value, rng), lambda value, rng: int(rng.integers(9))]
)
def test_what_remembers_has_no_exact_law(draw):
    """Every path leads where the first led, also if it is followed again in that process."""
    found = decide(remembering(draw))
    assert isinstance(found, str)
    assert "remembers earlier calls" in found


def test_what_remembers_in_a_file_is_not_refuted_exactly(tmp_path):
    def kept(value, rng):
        place = tmp_path / str(value)
        if not place.exists():
            place.write_text(str(response(value, rng)))
        return int(place.read_text())

    found = audit(kept, pair=(0, 1), epsilon=EPSILON, relation=REPLACE, trials=50)
    assert not found.refuted
    assert found.exact is None


# --- clients of local privacy, each from its paper --------------------------------------------


def response(value, rng, *, epsilon=EPSILON):
    """Warner's: the bit with probability e^epsilon / (1 + e^epsilon), else the other."""
    return value if rng.random() < E**epsilon / (1 + E**epsilon) else 1 - value


def direct(value, rng, *, d=D, epsilon=EPSILON):
    """k-ary randomized response (Kairouz, Bonawitz and Ramage)."""
    if rng.random() < E**epsilon / (E**epsilon + d - 1):
        return value
    other = int(rng.integers(d - 1))
    return other if other < value else other + 1


def symmetric(value, rng, *, d=D, epsilon=EPSILON):
    """Basic RAPPOR: every bit of the one-hot vector flipped with the same probability."""
    p = E ** (epsilon / 2) / (1 + E ** (epsilon / 2))
    bits = np.arange(d) == value
    return np.where(rng.random(d) < p, bits, ~bits).astype(int)


def optimal(value, rng, *, d=D, epsilon=EPSILON):
    """Optimal unary encoding (Wang, Blocki, Li and Jha): p = 1/2, q = 1 / (1 + e^epsilon)."""
    keep = np.where(np.arange(d) == value, 0.5, 1 / (1 + E**epsilon))
    return (rng.random(d) < keep).astype(int).tolist()


def subset(value, rng, *, d=D, k=2, epsilon=EPSILON, in_order=False):
    """Subset selection (Ye and Barg): k values, the own one among them with probability p."""
    p = k * E**epsilon / (k * E**epsilon + d - k)
    others = [one for one in range(d) if one != value]
    if rng.random() < p:
        found = [value, *rng.choice(others, size=k - 1, replace=False).tolist()]
    else:
        found = rng.choice(others, size=k, replace=False).tolist()
    return sorted(found) if in_order else found


def hadamard(value, rng, *, d=D, epsilon=EPSILON):
    """Hadamard response: one entry of the value's row, kept with Warner's probability."""
    column = rng.integers(8)
    entry = 1 - 2 * ((value & column).bit_count() % 2 if isinstance(value & column, int)
                     else int(value & column).bit_count() % 2)  # fmt: skip
    return column, entry if rng.random() < E**epsilon / (1 + E**epsilon) else -entry


def hashed(value, rng, *, g=4, epsilon=EPSILON):
    """Local hashing (Wang and others) over the family (a x + b mod 7) mod g."""
    a, b = int(rng.integers(1, 7)), int(rng.integers(7))
    return a, b, direct((a * value + b) % 7 % g, rng, d=g, epsilon=epsilon)


CLIENTS = [response, direct, symmetric, optimal, partial(subset, in_order=True), hadamard, hashed]


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: getattr(one, "__name__", "sorted"))
def test_a_client_is_proved_at_its_epsilon_and_refuted_below(client):
    found = decide(client)
    assert found.verdict is Verdict.PROVED
    assert found.epsilon == pytest.approx(EPSILON, abs=1e-10)
    below = decide(client, epsilon=EPSILON - 1e-6)
    assert below.verdict is Verdict.REFUTED
    assert below.epsilon == pytest.approx(EPSILON, abs=1e-10)


def test_a_subset_in_the_order_it_was_drawn_in_loses_everything():
    found = decide(subset, pair=(3, 1))
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon == math.inf
    one, other = found.chances
    assert one != "0"
    assert other == "0"


@pytest.mark.parametrize(
    ("client", "true"),
    [
        # The probability of the truth of twice the epsilon.
        (partial(response, epsilon=2.0), 2.0),
        # Every bit at the whole epsilon: two of them differ.
        (partial(symmetric, epsilon=2.0), 2.0),
        (partial(optimal, epsilon=1.5), 1.5),
    ],
)
def test_a_client_that_spends_more_is_refuted_at_what_it_spends(client, true):
    found = decide(client)
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon == pytest.approx(true, abs=1e-10)
    assert found.event is not None


def leaking(value, rng, *, chance=1e-9):
    return ("leak", value) if rng.random() < chance else response(value, rng)


@pytest.mark.parametrize(
    "chance", [1e-9, *(pytest.param(chance, marks=pytest.mark.long) for chance in (1e-3, 1e-12))]
)
def test_a_planted_leak_is_refuted_however_rare(chance):
    found = decide(partial(leaking, chance=chance))
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon == math.inf
    assert "leak" in found.event.describe()
    # As delta it is allowed, and half of it is not.
    assert decide(partial(leaking, chance=chance), delta=chance).verdict is Verdict.PROVED
    assert decide(partial(leaking, chance=chance), delta=chance / 2).verdict is Verdict.REFUTED


def test_what_the_roundings_of_doubles_leave_over_accuses_nobody():
    # Cumulative sums of thirds and tenths end beside 1, by a rounding.
    def table(value, rng):
        weights = np.roll([0.1] * 7 + [0.3], value) * [1 / 3, 1 / 3, 1 / 3, 1 / 3, 1, 1, 1, 1]
        return int(np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random()))

    found = decide(table, epsilon=math.log(9) + 1e-12)
    assert found.verdict is Verdict.PROVED


def counting(value, rng):
    """The two-sided geometric mechanism at epsilon 1."""
    stop = 1 - 1 / E
    return int(value + rng.geometric(stop) - rng.geometric(stop))


@pytest.mark.long
def test_the_tails_of_the_geometric_mechanism_are_a_delta():
    found = decide(counting)
    assert found.verdict is Verdict.PROVED
    assert found.epsilon == pytest.approx(1, abs=1e-9)
    assert 0 < found.tail < 1e-12
    below = decide(counting, epsilon=1 - 1e-6)
    assert below.verdict is Verdict.REFUTED
    assert below.epsilon == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "epsilon",
    [20.0, *(pytest.param(other, marks=pytest.mark.long) for other in (5.0, 35.0, 50.0, 600.0))],
)
@pytest.mark.parametrize("chance", [1e-6, 0.5])
def test_no_epsilon_is_large_enough_to_prove_what_one_side_never_gives(epsilon, chance):
    """Roundings and a tail are multiplied by e^epsilon, and may leave it undecided."""

    def leaking_tail(value, rng):
        if value and rng.random() < chance:
            return -1
        return min(int(rng.geometric(0.5)), 60)

    found = decide(leaking_tail, epsilon=epsilon)
    assert isinstance(found, str) or found.verdict is not Verdict.PROVED


def both(database, rng):
    return [response(bit, rng) for bit in database]


def test_a_claim_of_two_steps_is_one_of_twice_the_epsilon():
    found = decide(both, pair=([0, 0], [1, 1]), distance=2)
    assert found.verdict is Verdict.PROVED
    assert found.epsilon == pytest.approx(1, abs=1e-10)
    assert decide(both, epsilon=0.999, pair=([0, 0], [1, 1]), distance=2).verdict is (
        Verdict.REFUTED
    )


@pytest.mark.parametrize(
    "epsilon", [1.0, *(pytest.param(other, marks=pytest.mark.long) for other in (0.0, 0.3, 2.0))]
)
def test_delta_is_the_excess_of_probability(epsilon):
    p = E**2 / (1 + E**2)
    least = max(p - math.exp(epsilon) * (1 - p), 0)
    found = decide(partial(response, epsilon=2.0), epsilon=epsilon, delta=least + 1e-12)
    assert found.verdict is Verdict.PROVED
    assert found.delta == pytest.approx(least, abs=1e-13)
    assert found.epsilon == pytest.approx(epsilon, abs=1e-10)
    if least > 1e-9:
        refuted = decide(partial(response, epsilon=2.0), epsilon=epsilon, delta=least * 0.999)
        assert refuted.verdict is Verdict.REFUTED


# --- verdicts ---------------------------------------------------------------------------------


def rendered(result):
    """The report with its lines joined."""
    return " ".join(as_text.render(result).split())


ASKED = {"epsilon": 1.0, "relation": REPLACE, "trials": 4000}


def test_one_pair_is_proved_and_never_called_passed():
    result = audit(response, pair=(0, 1), **ASKED)
    assert result.verdict is Verdict.PROVED
    assert result.exact.scope == "this pair"
    assert result.exact.drawn[0] in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE)
    text = rendered(result)
    assert text.startswith("Proved: response keeps epsilon 1 (replace-one) on this pair.")
    assert "Proved on this pair: no event loses more than epsilon 1; exact probabilities" in text
    assert "the generator is its only randomness" in text
    assert "passed" not in text.casefold()
    assert "no proof" not in text


def test_what_draws_cannot_see_is_refuted_by_a_pair_an_event_and_two_fractions():
    result = audit(leaking, pair=(0, 1), **ASKED)
    assert result.refuted
    assert result.by_law
    assert result.exact.drawn[0] is not Verdict.REFUTED
    assert result.witness.epsilon_lower == result.epsilon_lower == math.inf
    assert p_value(result) == 0
    text = rendered(result)
    assert "Refuted exactly, epsilon = infinity" in text
    assert "exactly 1e-09 of all runs" in text
    assert "passed" not in text


@pytest.mark.long
def test_an_exact_loss_is_the_headline_if_draws_refute_too():
    spends = partial(response, epsilon=2.0)
    result = audit(spends, pair=(0, 1), **ASKED)
    verdict, drawn = result.exact.drawn
    assert verdict is Verdict.REFUTED
    assert 1 < drawn < 2
    assert result.drawn_lower == result.worst.epsilon_lower == drawn
    # The witness of the draws stays, with its counts; its bound is theirs.
    assert result.witness.evidence.counts
    assert result.witness.epsilon_lower == drawn
    assert result.epsilon_lower == result.exact.epsilon == pytest.approx(2, abs=1e-10)
    assert repr(result).endswith("epsilon = 2>")
    text = rendered(result)
    assert text.startswith(
        "Refuted: mechanism does not keep epsilon 1 (replace-one): epsilon = 2, "
    )
    assert f"bound epsilon >= {wording.at_least(drawn)}, with 99.9 % confidence" in text
    assert "Refuted exactly, epsilon = 2;" in text
    assert wording.short(result) == "mechanism: epsilon = 2 > 1"
    assert wording.bound_phrase(result) == "epsilon = 2"
    (again,) = replay(written(result), spends)
    assert again.same, again.differences
    assert again.epsilon_lower == result.epsilon_lower


def test_false_leaves_the_verdict_to_the_draws():
    result = audit(leaking, pair=(0, 1), exact=False, **ASKED)
    assert result.verdict is not Verdict.REFUTED
    assert result.exact is None


def laplace(value, rng):
    return value + rng.laplace()


def test_continuous_noise_is_told_only_where_exactness_was_asked_for():
    quiet = audit(laplace, pair=(0, 1), **ASKED)
    assert (quiet.exact, quiet.not_exact) == (None, "")
    asked = audit(laplace, pair=(0, 1), exact=True, **ASKED)
    assert asked.verdict is quiet.verdict
    assert asked.evidence == quiet.evidence
    assert "laplace is no finite draw" in asked.not_exact
    assert "laplace is no finite draw" in rendered(asked)
    assert "enumerable" not in rendered(quiet)


def test_continuous_noise_costs_one_call_and_no_process(monkeypatch):
    def never(*_):
        raise AssertionError("no law is enumerated")

    monkeypatch.setattr(exact, "enumerate_laws", never)
    assert audit(laplace, pair=(0, 1), **ASKED).exact is None
    assert exact.first_path.__module__.endswith("enumeration")


def watched(value, rng):
    """Honest to a generator of another class than numpy's own."""
    return response(value, rng) if type(rng) is not np.random.Generator else value


@pytest.mark.long
def test_a_proof_that_the_draws_contradict_is_none():
    result = audit(watched, pair=(0, 1), exact=True, **ASKED)
    assert result.refuted
    assert result.exact is None
    assert "the draws refute" in result.not_exact


BITS = Rows(row=Choices(values=(0, 1)), max_size=6)


@pytest.mark.long
def test_a_universe_is_proved_where_that_is_asked_for():
    tried = audit(both, databases=BITS, **ASKED)
    assert tried.verdict is not Verdict.PROVED  # the draws looked further, and decide
    assert tried.exact.verdict is Verdict.PROVED
    asked = audit(both, databases=BITS, exact=True, **ASKED)
    assert asked.verdict is Verdict.PROVED
    assert "neighbouring pairs of the lists of 0 to" in asked.exact.scope
    assert asked.exact.pairs > 1
    assert f"replace-one) on {asked.exact.scope}." in rendered(asked)
    assert "Proved on all" in rendered(tried)


def last_counts_double(database, rng):
    """Sound but for lists that hold two ones."""
    noisy = [response(bit, rng) for bit in database]
    return [*noisy, response(1, rng, epsilon=30.0)] if sum(database) == 2 else noisy


@pytest.mark.long
def test_a_universe_refutes_by_its_worst_pair():
    result = audit(last_counts_double, databases=BITS, **ASKED)
    assert result.refuted
    assert result.exact.verdict is Verdict.REFUTED
    assert 2 in (sum(result.exact.pair.database), sum(result.exact.pair.neighbour))


@pytest.mark.parametrize("busy", [0.0, 12.0])
def test_how_much_is_proved_does_not_depend_on_the_clock(monkeypatch, busy):
    """Nobody asked for the laws: they stop after so many calls, whatever the machine has to do.

    These calls do for the pair that was judged. The net in seconds, which is for long work in few
    calls, is out of the way: the clock stands still, or runs as if every call were twelve.
    """
    monkeypatch.setattr(privacy, "CALLS_OF_LAWS", 350_000)
    monkeypatch.setattr(privacy, "A_DRAW", 0)
    monkeypatch.setattr(privacy, "DEAR", 1.0)
    clock = enumeration.process_time
    monkeypatch.setattr(enumeration, "process_time", lambda: busy * clock())
    result = audit(GEOMETRIC.run, databases=Rows(row=Choices(values=(0, 1))),
                   epsilon=1.0, relation="add-remove", trials=1000, trust_rows=True)  # fmt: skip
    assert result.exact is not None
    assert (result.exact.pairs, result.exact.runs) == (1, 1311)


def test_pairs_of_a_strategy_are_those_that_were_looked_at():
    pairs = st.sampled_from([Pair([0], [1]), Pair([0, 1], [1, 1]), Pair([0, 0], [0, 1])])
    result = audit(both, databases=pairs, exact=True, **ASKED)
    assert result.verdict is Verdict.PROVED
    assert result.exact.scope == "all 3 pairs that the search looked at"


def test_every_claim_of_a_mechanism_is_decided():
    results = audit_claims(response, epsilon=0.5, relation=REPLACE, pair=(0, 1), trials=4000)
    assert [one.exact.verdict for one in results] == [Verdict.REFUTED]
    assert results[0].exact.epsilon == pytest.approx(1, abs=1e-10)


# --- evidence ---------------------------------------------------------------------------------


def written(result):
    return json.loads(json.dumps(evidence.document([result], replay="")))


@pytest.mark.long
@pytest.mark.parametrize("run", [response, leaking, counting])
def test_the_evidence_is_replayed_and_read_back(run):
    result = audit(run, pair=(0, 1), **ASKED)
    (again,) = replay(written(result), run)
    assert again.same, again.differences
    assert again.verdict is result.verdict
    record = json.loads(json.dumps(record_of(result)))
    assert record_of(revived(record)) == record_of(replace(result, seconds=record["seconds"]))
    page = as_html.render([result], written(result))
    assert result.exact.scope in page


def forged(document, change):
    change(document["results"][0], document["findings"][0])
    return document


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "change", "place"),
    [
        (leaking, lambda r, f: r["exact"].update(epsilon=3.0), "exact.epsilon"),
        (leaking, lambda r, f: r["exact"].update(chances=["1/2", "0"]), "exact.chances"),
        (leaking, lambda r, f: r["exact"].update(delta=0.5), "exact.delta"),
        (leaking, lambda r, f: f["witness"].update(neighbour=0), "witness"),
        (leaking, lambda r, f: f.update(verdict="not_refuted"), "verdict"),
        (partial(response, epsilon=2.0), lambda r, f: f.update(epsilon_lower=1.5), "epsilon_lower"),
        (response, lambda r, f: r["exact"].update(epsilon=0.5), "exact.epsilon"),
        (response, lambda r, f: f.update(verdict="not_refuted"), "verdict"),
        (response, lambda r, f: r.pop("exact"), "verdict"),
        (partial(response, epsilon=2.0), lambda r, f: r["exact"].update(event=None), "exact.event"),
    ],
)
def test_a_forged_part_is_named(run, change, place):
    result = audit(run, name="it", pair=(0, 1), **ASKED)
    (again,) = replay(forged(written(result), change), run)
    assert not again.same
    assert any(place in one for one in again.differences), again.differences


# --- many pairs: doubles leave out only what they prove ------------------------------------------


def some_laws(rng, databases=12, outputs=9):
    """Laws of whole numbers over one denominator: many that are equal, some with zeros."""
    parts = rng.choice(
        [0, 1, 2, 3, 5, 8, 1000], size=(databases, outputs), p=[0.02, *[0.98 / 6] * 6]
    )
    parts[:, 0] += 1
    chances = tuple(tuple(Fraction(int(n), int(row.sum())) for n in row) for row in parts)
    tail = Fraction(1, 10**13)
    tails = tuple(tail * int(n) for n in rng.integers(0, 2, size=databases))
    return Laws(Outputs.of_list(list(range(outputs))), chances, tails, runs=databases * outputs)


@pytest.mark.parametrize("delta", [0.0, 1e-14, 0.01, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_worst_of_many_pairs_is_the_worst_of_all(seed, delta):
    """At every epsilon: also at that of a pair itself, which doubles cannot tell from a breach."""
    rng = np.random.default_rng(seed)
    laws = some_laws(rng)
    if seed % 2:  # without impossible outputs, so that something is proved
        laws = replace(laws, chances=tuple(
            tuple((chance + Fraction(1, 9)) / 2 for chance in law) for law in laws.chances
        ))  # fmt: skip
    places = np.array(list(combinations(range(len(laws.chances)), 2)))
    pairs = [Pair(int(a), int(b)) for a, b in places]

    def of(epsilon, chosen):
        claim = PrivacyClaim(epsilon=epsilon, delta=delta, relation=Relation.REPLACE_ONE)
        return claim, [exact.checked(laws, tuple(places[n]), pairs[n], claim) for n in chosen]

    _, every = of(1.0, range(len(pairs)))
    known = sorted({one.epsilon for one in every if one.epsilon < math.inf})
    left_out = 0
    for epsilon in [0.01, *known[:: max(1, len(known) // 4)], known[-1], known[-1] + 0.1, 9.0]:
        claim, every = of(epsilon, range(len(pairs)))
        chosen = exact._to_check(laws, places, claim)
        some = [every[n] for n in chosen]
        rest = [every[n] for n in set(range(len(pairs))) - set(chosen)]
        assert all(one.verdict is Verdict.PROVED for one in rest)
        key = (lambda one: one.delta) if delta else (lambda one: one.epsilon)
        # Roundings of the two probabilities whose difference is a delta.
        unsure = 2e-15 * (1 + math.exp(epsilon)) if delta else 0
        assert max(map(key, some)) >= max(map(key, every)) * (1 - 1e-10) - unsure
        left_out += len(rest)
    assert left_out or not seed % 2
