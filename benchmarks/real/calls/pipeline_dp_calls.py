"""PipelineDP on the local backend: sums, counts and partitions of users with several rows each."""

import pipeline_dp

METRICS = [
    pipeline_dp.Metrics.COUNT,
    pipeline_dp.Metrics.SUM,
    pipeline_dp.Metrics.PRIVACY_ID_COUNT,
]


def aggregated(users, metrics, epsilon, delta, partitions, noise=pipeline_dp.NoiseKind.LAPLACE):
    """The metrics by partition; a user is a list of (partition, value)."""
    rows = [(i, key, value) for i, user in enumerate(users) for key, value in user]
    rows.append((-1, "elsewhere", 0.0))  # an empty collection is refused, on every database
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    bounds = pipeline_dp.AggregateParams(
        noise_kind=noise,
        metrics=metrics,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0.0,
        max_value=1.0,
    )
    extract = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    result = engine.aggregate(rows, bounds, extract, public_partitions=partitions)
    budget.compute_budgets()
    return [[key, *found] for key, found in result]


def in_their_order(users, rng):
    return aggregated(users, [pipeline_dp.Metrics.SUM], 1.0, 1e-6, ["a", "b"])


def total(users, rng):
    return sorted(aggregated(users, [pipeline_dp.Metrics.SUM], 1.0, 1e-6, ["a", "b"]))


def mean(users, rng):
    return sorted(aggregated(users, [pipeline_dp.Metrics.MEAN], 1.0, 1e-6, ["a", "b"]))


def three(users, rng):
    return sorted(aggregated(users, METRICS, 1.0, 1e-6, ["a", "b"]))


def chosen_partitions(users, rng):
    return sorted(aggregated(users, [pipeline_dp.Metrics.COUNT], 1.0, 1e-2, None))
