"""Does a sampler follow the law it declares: laws from text, and tests with a stated alpha."""

from .conform import Conformance, Discrepancy, conform
from .parse import parse_law
from .sampled_laws import SampledLaw

__all__ = ["Conformance", "Discrepancy", "SampledLaw", "conform", "parse_law"]
