"""Does a sampler follow the law it declares: laws from text, and tests with a stated alpha."""

from .conform import Conformance, Finding, conform
from .parse import parse_law
from .sampled_laws import SampledLaw

__all__ = ["Conformance", "Finding", "SampledLaw", "conform", "parse_law"]
