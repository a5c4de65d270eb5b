"""What the library promises, audited. One test fails: noisy_maximum_age."""

import pytest
from noise import choices, counts


def test_noisy_count(dp_audit):
    dp_audit(counts.noisy_count, epsilon=1.0, relation="add-remove", databases=counts.PEOPLE)


def test_noisy_histogram(dp_audit):
    dp_audit(counts.noisy_histogram, epsilon=0.5, relation="add-remove", databases=counts.PEOPLE)


def test_clipped_sum(dp_audit):
    dp_audit(counts.clipped_sum, epsilon=1.0, relation="add-remove", databases=counts.AGES)


@pytest.mark.dp(weight=2)
def test_clipped_mean(dp_audit):
    dp_audit(counts.clipped_mean, epsilon=2.0, relation="add-remove", databases=counts.AGES)


def test_is_empty(dp_audit):
    dp_audit(counts.is_empty, epsilon=1.0, relation="add-remove", databases=counts.PEOPLE)


def test_noisy_maximum_age(dp_audit):
    dp_audit(counts.noisy_maximum_age, epsilon=1.0, relation="add-remove", databases=counts.AGES)


def test_favourite(dp_audit):
    dp_audit(choices.favourite, epsilon=1.0, relation="replace-one", databases=choices.VOTES)


def test_noisy_favourite(dp_audit):
    dp_audit(choices.noisy_favourite, epsilon=1.0, relation="replace-one", databases=choices.VOTES)


def test_honest_answer(dp_audit):
    dp_audit(choices.honest_answer, epsilon=1.0, relation="replace-one", databases=choices.ANSWERS)


def test_any_vote(dp_audit):
    dp_audit(choices.any_vote, epsilon=1.0, relation="replace-one", databases=choices.VOTES)
