"""Objects of other libraries as functions of (database, rng), with what they say of themselves.

None of the libraries is imported: an object of one can only come from a program that has it loaded.
The client of `remote` takes a copy of this file along, so it stands alone and Python 3.8 reads it.
What an object claims is plain data, as a client says it in its greeting (docs/protocol.md):
`mechanism.claims_of` makes claims of it. An object that is no mechanism is a TypeError with a
sentence.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, SupportsFloat

OfLibrary = Any
"""An object of a library that is not imported here, so that nobody knows its type."""

DECLARED, ADD_REMOVE, REPLACE_ONE = "declared", "add-remove", "replace-one"
RELATIONS = {
    "SymmetricDistance": ADD_REMOVE,
    "InsertDeleteDistance": ADD_REMOVE,
    "ChangeOneDistance": REPLACE_ONE,
    "HammingDistance": REPLACE_ONE,
}
"""Neighbours by OpenDP's metric; of others, such as distances of numbers, pairs are given."""
MEASURES = ("MaxDivergence", "Approximate(MaxDivergence)", "FixedSmoothedMaxDivergence")
"""Measures whose map gives epsilon, or epsilon and delta."""
DELTAS = tuple(10.0**-k for k in range(1, 13))
"""Deltas at which a privacy profile is asked for its epsilon: 1e-1 down to 1e-12."""
ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0)
"""Orders at which a curve of Renyi divergences is asked for."""


class Opened(NamedTuple):
    """An object as a mechanism: `said` has `reference`, and may have `claims` and `opendp`."""

    run: Callable[..., object]
    seeded: bool
    said: Mapping[str, Any]


def named(text: str) -> tuple[str, tuple[str, ...]]:
    """The name in front of `[...]`, and what stands in the brackets: `model[centers,inertia]`."""
    name, bracket, inside = text.partition("[")
    listed = inside[:-1] if inside.endswith("]") else inside
    return name, tuple(part.strip() for part in listed.split(",")) if bracket else ()


def opened(found: object, name: str, released: Sequence[str] = ()) -> Opened | None:
    """The object as a mechanism; None if it is of no library known here.

    `released` are attributes of a model that is fitted to the database.
    """
    homes = {kind.__module__.partition(".")[0] for kind in type(found).__mro__}
    if released or ("sklearn" in homes and callable(getattr(found, "fit", None))):
        return of_model(found, name, released)
    for home, make in LIBRARIES:
        if home in homes:
            return make(found, name)
    return None


def claim(
    relation: str, reference: str, epsilon: OfLibrary, delta: SupportsFloat | None = 0.0
) -> dict[str, object]:
    """A claim of one pair of numbers, in nats."""
    return {
        "relation": relation, "reference": reference,
        "epsilon": float(epsilon), "delta": float(delta or 0.0),
    }  # fmt: skip


def kind_of(found: object) -> str:
    """The name of its class."""
    return type(found).__name__


# --- models that are fitted -----------------------------------------------------------------------


def of_model(model: object, name: str, released: Sequence[str]) -> Opened:
    """What an estimator learns from the database: its attributes named in `released`.

    A database is a list of rows, or a table; the last column is the label if `fit` requires one.
    A model that knows its epsilon claims it for pairs that are given, as none says its relation.
    """
    if not callable(getattr(model, "fit", None)):
        raise TypeError(
            f"{name} is a {kind_of(model)} without fit; --release names what a fitted model "
            "releases"
        )
    if not released:
        raise TypeError(
            f"{name} is a {kind_of(model)}: say which of its fitted attributes are released, as in "
            "--release coef_,intercept_"
        )
    said: dict[str, object] = {"reference": kind_of(model)}
    epsilon = getattr(model, "epsilon", None)
    if "diffprivlib" in {kind.__module__.partition(".")[0] for kind in type(model).__mro__}:
        said["claims"] = [claim(DECLARED, f"diffprivlib, {kind_of(model)}.epsilon", epsilon)]
    return Opened(partial(fitted, model, tuple(released), labelled(model)), True, said)


def labelled(model: OfLibrary) -> bool:
    """Whether `fit` requires labels beside the rows."""
    wanted = list(inspect.signature(model.fit).parameters.values())[1:2]
    return any(one.default is one.empty and one.kind != one.VAR_KEYWORD for one in wanted)


def fitted(
    model: OfLibrary, released: Sequence[str], labels: bool, database: object, rng: OfLibrary
) -> dict[str, object]:
    """The attributes of a fresh copy, seeded from `rng` wherever it takes a `random_state`."""
    import numpy

    fresh = copy.deepcopy(model)
    settings = fresh.get_params() if callable(getattr(fresh, "get_params", None)) else {}
    for key in [*settings, "random_state"]:
        if key == "random_state" and hasattr(fresh, key):
            fresh.random_state = int(rng.integers(2**32))
        elif key.endswith("__random_state"):
            fresh.set_params(**{key: int(rng.integers(2**32))})
    if hasattr(database, "iloc"):
        parts = (database.iloc[:, :-1], database.iloc[:, -1]) if labels else (database,)
    else:
        rows = numpy.asarray(database, dtype=float)
        parts = (rows[:, :-1], rows[:, -1]) if labels else (rows,)
    fresh.fit(*parts)
    return {name: attribute(fresh, name) for name in released}


def attribute(model: object, name: str) -> object:
    """A fitted attribute by its name, or by the end of it: `centers` for `cluster_centers_`."""
    if not hasattr(model, name):
        learnt = [one for one in vars(model) if one.endswith("_") and not one.startswith("_")]
        meant = [one for one in learnt if one.endswith(name + "_")]
        if len(meant) != 1:
            raise AttributeError(
                f"{kind_of(model)} has no fitted attribute {name!r}; it has "
                + (", ".join(learnt) or "none")
            )
        name = meant[0]
    return getattr(model, name)


# --- objects that know their claim ----------------------------------------------------------------


def of_measurement(measurement: OfLibrary, name: str, d_in: object = 1) -> Opened:
    """An OpenDP measurement, with the claim that its map gives for databases `d_in` apart.

    OpenDP draws from the operating system. A database is the measurement's argument.
    """
    metric = str(measurement.input_metric).partition("(")[0]
    loss, measure = mapped(measurement, d_in), str(measurement.output_measure)
    told: dict[str, object] = {"relation": RELATIONS.get(metric, DECLARED)}
    told["reference"] = f"the measurement's own map({d_in}), {metric}"
    if measure.startswith(MEASURES):
        epsilon, delta = loss if isinstance(loss, tuple) else (loss, 0.0)
        told.update(epsilon=float(epsilon), delta=float(delta))
    elif measure.startswith(("ZeroConcentratedDivergence", "Approximate(ZeroConcentrated")):
        rho, delta = loss if isinstance(loss, tuple) else (loss, 0.0)
        told.update(rho=float(rho), delta=float(delta))
    elif measure.startswith("SmoothedMaxDivergence"):
        points = [[float(loss.epsilon(delta)), delta] for delta in DELTAS]
        told.update(points=[point for point in points if point[0] < float("inf")])
    elif measure.startswith("RenyiDivergence"):
        told.update(renyi=[[order, float(loss(order))] for order in ORDERS])
    else:
        raise TypeError(
            f"{name} states its privacy as {measure}, which is none of pure, approximate, "
            "zero-concentrated, Renyi or smoothed max divergence; convert it, as with "
            "make_fix_delta(make_zCDP_to_approxDP(...), delta)"
        )
    said = {
        "claims": [told],
        "reference": f"map({d_in}) of the measurement, {metric}",
        "opendp": [str(getattr(measurement, "input_domain", "")), metric, d_in],
    }
    return Opened(partial(called, measurement), False, said)


def mapped(measurement: OfLibrary, d_in: OfLibrary) -> OfLibrary:
    """What the map gives; a distance of floats wants a float."""
    try:
        return measurement.map(d_in)
    except Exception:  # noqa: BLE001 - OpenDP has a type of its own
        return measurement.map(float(d_in))


def called(found: OfLibrary, database: object, rng: object) -> object:
    """The object on the database; its randomness is its own."""
    return found(database)


def of_diffprivlib(mechanism: OfLibrary, name: str) -> Opened:
    """A diffprivlib mechanism on one value; each draw is of a copy seeded from the generator.

    Neighbours are values at most its sensitivity apart, which whoever gives a pair sees to.
    """
    if not callable(getattr(mechanism, "randomise", None)):
        raise TypeError(
            f"{name} is a {kind_of(mechanism)} of diffprivlib without randomise; name the "
            "attributes that a model releases with --release, or wrap a tool in a function of "
            "(database, rng) that passes random_state"
        )
    reference = f"diffprivlib, {kind_of(mechanism)}.epsilon"
    told = claim(DECLARED, reference, mechanism.epsilon, getattr(mechanism, "delta", 0.0))
    said = {"claims": [told], "reference": f"diffprivlib {kind_of(mechanism)}"}
    return Opened(partial(randomised, mechanism), True, said)


def randomised(mechanism: OfLibrary, database: object, rng: OfLibrary) -> object:
    """One draw of a copy."""
    fresh = copy.copy(mechanism)
    seeded = sys.modules["diffprivlib.utils"].check_random_state
    fresh._rng = seeded(int(rng.integers(2**32)), True)
    return fresh.randomise(database)


def of_python_dp(found: OfLibrary, name: str) -> Opened:
    """A mechanism with `add_noise` on one value, or an algorithm with `quick_result` on a list.

    Neighbours of the first are values at most the sensitivity apart, given as a pair. python-dp
    draws from the operating system.
    """
    if callable(getattr(found, "add_noise", None)):
        run, relation = partial(noised, found), DECLARED
    elif callable(getattr(found, "quick_result", None)):
        run, relation = partial(computed, found), ADD_REMOVE
    else:
        raise TypeError(
            f"{name} is a {kind_of(found)} of python-dp; expected one with add_noise or "
            "quick_result"
        )
    reference = f"python-dp, {kind_of(found)}.epsilon"
    told = claim(relation, reference, found.epsilon, getattr(found, "delta", 0.0))
    return Opened(run, False, {"claims": [told], "reference": f"python-dp {kind_of(found)}"})


def noised(found: OfLibrary, database: object, rng: object) -> object:
    """The value with noise."""
    return found.add_noise(database)


def computed(found: OfLibrary, database: Iterable[object], rng: object) -> object:
    """The result; an algorithm spends its budget with each, and quick_result starts it afresh."""
    return found.quick_result(list(database))


def of_pure_ldp(client: OfLibrary, name: str) -> Opened:
    """A pure-ldp client's `privatise` on one value; any two values are neighbours."""
    if not callable(getattr(client, "privatise", None)):
        raise TypeError(
            f"{name} is a {kind_of(client)} of pure-ldp; expected a client with privatise"
        )
    told = claim(REPLACE_ONE, f"pure-ldp, {kind_of(client)}.epsilon", client.epsilon)
    said = {"claims": [told], "reference": f"pure-ldp {kind_of(client)}"}
    return Opened(partial(privatised, client), False, said)


def privatised(client: OfLibrary, database: object, rng: object) -> object:
    """The report of a user."""
    return client.privatise(database)


def of_torch(module: object, name: str) -> Opened:
    """A torch module on the database as a tensor; its global generator is seeded for each draw."""
    if not callable(getattr(module, "forward", None)):
        raise TypeError(
            f"{name} is a {kind_of(module)} of torch; expected a module, or a function of "
            "(database, rng)"
        )
    return Opened(partial(forwarded, module), True, {"reference": f"torch {kind_of(module)}"})


def forwarded(module: OfLibrary, database: object, rng: object) -> object:
    """What the module makes of a list of numbers in torch's default type, as an array."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        made = module(torch.as_tensor(database, dtype=torch.get_default_dtype()))
    return made.numpy() if isinstance(made, torch.Tensor) else made


def of_dpwitness(found: OfLibrary, name: str) -> Opened | None:
    """A Mechanism of dpwitness that another process runs: its privacy claims that are no curves."""
    mechanism: OfLibrary = getattr(found, "mechanism", found)
    if not callable(getattr(mechanism, "run", None)):
        return None
    claims = [
        {**claim(one.relation.value, one.reference, one.epsilon, one.delta),
         "distance": int(one.distance)}
        for one in mechanism.claims
        if one.kind == "privacy" and one.curve is None
    ]  # fmt: skip
    said = {"claims": claims, "reference": mechanism.reference}
    return Opened(mechanism.run, mechanism.seeded, said)


LIBRARIES = (
    ("opendp", of_measurement),
    ("diffprivlib", of_diffprivlib),
    ("pydp", of_python_dp),
    ("pure_ldp", of_pure_ldp),
    ("torch", of_torch),
    ("dpwitness", of_dpwitness),
)
"""By the first part of the module that a class comes from."""
