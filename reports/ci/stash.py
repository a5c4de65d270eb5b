"""Where pytest keeps what a run knows of its audits between the hooks."""

import pytest

from ...auditors.evidence.record import ResultRecord
from .state import Run, Share

RUN = pytest.StashKey[Run]()
SHARE = pytest.StashKey[Share]()
HISTORY = pytest.StashKey[list[ResultRecord]]()
"""The results of one test as entries of an evidence file, for the history."""
