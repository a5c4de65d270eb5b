"""OpenDP measurements in files, and databases from the input space of a measurement."""

import importlib
import re
from typing import Any

from ...auditors.errors import InvalidArgument
from ...auditors.remote.libraries import RELATIONS
from ...mechanisms.model import Pair
from ..record import reading

LARGEST, MOST_RECORDS = 100, 10
"""Numbers without bounds are taken up to the first, and lists up to the second long."""

CONSTRUCTORS = {
    module: frozenset(names.split())
    for module, names in {
        "domains": "array_domain atom_domain bitvector_domain categorical_domain datetime_domain "
        "enum_domain map_domain option_domain series_domain vector_domain",
        "metrics": "absolute_distance change_one_distance change_one_id_distance discrete_distance "
        "frame_distance hamming_distance insert_delete_distance l01inf_distance l02inf_distance "
        "l1_distance l2_distance linf_distance symmetric_distance symmetric_id_distance",
        "measures": "approximate fixed_smoothed_max_divergence max_divergence renyi_divergence "
        "smoothed_max_divergence zero_concentrated_divergence",
        "core": "measurement_input_domain measurement_input_metric measurement_output_measure "
        "transformation_input_domain transformation_input_metric transformation_output_domain "
        "transformation_output_metric",
        "combinators": "make_adaptive_composition make_approximate make_basic_composition "
        "make_chain_mt make_chain_pm make_chain_tt make_composition make_fix_delta "
        "make_fixed_approxDP_to_approxDP make_fully_adaptive_composition "
        "make_population_amplification make_pureDP_to_fixed_approxDP make_pureDP_to_zCDP "
        "make_select_private_candidate make_sequential_composition make_zCDP_to_approxDP",
        "measurements": "make_alp_queryable make_canonical_noise make_gaussian "
        "make_gaussian_threshold make_geometric make_laplace make_laplace_threshold make_noise "
        "make_noise_threshold make_noisy_max make_noisy_top_k make_private_quantile "
        "make_randomized_response make_randomized_response_bitvec make_randomized_response_bool "
        "make_report_noisy_max_gumbel",
        "transformations": "make_b_ary_tree make_bounded_float_checked_sum "
        "make_bounded_float_ordered_sum make_bounded_int_monotonic_sum "
        "make_bounded_int_ordered_sum make_bounded_int_split_sum make_cast make_cast_default "
        "make_cast_inherent make_cdf make_clamp make_consistent_b_ary_tree make_count "
        "make_count_by make_count_by_categories make_count_distinct make_create_dataframe "
        "make_df_cast_default make_df_is_equal make_drop_null make_find make_find_bin "
        "make_identity make_impute_constant make_impute_uniform_float make_index make_is_equal "
        "make_is_null make_lipschitz_float_mul make_mean make_metric_bounded make_metric_unbounded "
        "make_ordered_random make_quantile_score_candidates make_quantiles_from_counts make_resize "
        "make_select_column make_sized_bounded_float_checked_sum "
        "make_sized_bounded_float_ordered_sum make_sized_bounded_int_checked_sum "
        "make_sized_bounded_int_monotonic_sum make_sized_bounded_int_ordered_sum "
        "make_sized_bounded_int_split_sum make_split_dataframe make_split_lines make_split_records "
        "make_subset_by make_sum make_sum_of_squared_deviations make_unordered make_variance",
    }.items()
}
"""What a file may have called, by the module that defines it. Beside their constructors these
modules hold helpers that load packages and read pickles. Left out are constructors that take a
function or an expression of another library, which no such file can hold."""


def measurement_in(path: str) -> object:
    """The measurement in a file that holds what `opendp.prelude.serialize` gave.

    OpenDP's own `deserialize` calls any function of any of its modules; this calls those of
    CONSTRUCTORS alone. It enables OpenDP's feature "contrib", without which it makes nothing.
    Raises EvidenceFormatError for what is no JSON file, and InvalidArgument for anything but a
    measurement.
    """
    try:
        dp = importlib.import_module("opendp.prelude")
    except ImportError:
        raise InvalidArgument(
            f"opendp:{path} needs OpenDP in this environment; pip install opendp"
        ) from None
    dp.enable_features("contrib")
    data = reading.load_document(path, "a file that opendp.prelude.serialize wrote")
    try:
        found = _made(data)
    except InvalidArgument as error:
        raise InvalidArgument(f"opendp:{path} {error}") from None
    except Exception as error:  # noqa: BLE001 - OpenDP has a type of its own, and Rust may panic
        said = (str(error).strip().splitlines() or [""])[0][:200]
        raise InvalidArgument(
            f"opendp:{path} could not be read as what opendp.prelude.serialize writes: "
            f"{type(error).__name__}: {said}"
        ) from None
    if not isinstance(found, dp.Measurement):
        raise InvalidArgument(
            f"opendp:{path} holds a {type(found).__name__}; expected a measurement, which "
            "opendp.prelude.serialize(measurement) writes"
        )
    return found


def _made(data: object) -> object:
    """What a file says, with each object made by the constructor that it names."""
    if isinstance(data, list):
        return [_made(item) for item in data]
    return _constructed({k: _made(v) for k, v in data.items()}) if isinstance(data, dict) else data


def _constructed(part: dict[str, Any]) -> object:
    """An object of a serialized measurement, made by the constructor it names."""
    if "__function__" in part:
        module, function = part.get("__module__"), part["__function__"]
        known = CONSTRUCTORS.get(module, ()) if isinstance(module, str) else ()
        if not isinstance(function, str) or function not in known:
            raise InvalidArgument(
                f"asks for opendp.{module}.{function}, which is no constructor of OpenDP that a "
                "file may name"
            )
        make = getattr(importlib.import_module(f"opendp.{module}"), function)
        if make.__module__ != f"opendp.{module}":
            raise InvalidArgument(
                f"asks for opendp.{module}.{function}, which is no constructor of OpenDP but "
                f"comes from {make.__module__}"
            )
        return make(**part.get("__kwargs__", {}))
    if set(part) == {"__tuple__"}:
        return tuple(part["__tuple__"])
    if any(key.startswith("__") for key in part):
        raise InvalidArgument(
            f"holds {min(part)}, an object of another library; make the measurement in a Python "
            "file and name it there as FILE.py:NAME"
        )
    return part


def databases_of(domain: str, metric: str, d_in: float) -> object:
    """A strategy of databases, or of pairs `d_in` apart; None for a domain that is not plain."""
    from hypothesis import strategies as st

    atom = re.search(r"AtomDomain\((?:bounds=\[([^,]+), ([^\]]+)\], )?.*?T=(\w+)\)", domain)
    if atom is None:
        return None
    low, high, kind = atom.groups()
    ends: list[Any] = [LARGEST * sign for sign in (0 if kind.startswith("u") else -1, 1)]
    if kind.startswith(("i", "u")):
        ends = [int(low), int(high)] if low else ends
        values: Any = st.integers(*ends)
    elif kind.startswith("f"):
        ends = [float(low), float(high)] if low else [float(end) for end in ends]
        values = st.floats(*ends)
    elif kind == "bool":
        values = st.booleans()
    else:
        return None
    if domain.startswith("VectorDomain("):
        size = re.search(r"size=(\d+)\)$", domain)
        number = int(size.group(1)) if size else None
        if metric in RELATIONS:
            return st.lists(values, min_size=number or 0, max_size=number or MOST_RECORDS)
        start = [type(ends[0])(max(ends[0], 0))] * (number or 1)
        step = type(ends[0])(d_in)
        moved = [one + step for one in start[: None if metric == "LInfDistance" else 1]]
        if not metric.endswith("Distance") or not metric.startswith("L"):
            return None
        return st.just(Pair(start, moved + start[len(moved) :]))
    if metric == "DiscreteDistance":
        return st.builds(Pair, values, values)
    if metric != "AbsoluteDistance" or ends[1] - ends[0] < d_in:
        return None
    step = type(ends[0])(d_in)
    return values.filter(lambda x: x + step <= ends[1]).map(lambda x: Pair(x, x + step))
