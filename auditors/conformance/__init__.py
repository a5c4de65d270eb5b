"""Does a sampler follow the law it declares: laws from text, and tests with a stated alpha."""

from .conform import Conformance, Discrepancy, conform
from .sampled_laws import SampledLaw, parse_law

__all__ = ["Conformance", "Discrepancy", "SampledLaw", "conform", "parse_law"]
