"""The record of all runs: an embedded store, evidence that grows over them, and its pages."""
