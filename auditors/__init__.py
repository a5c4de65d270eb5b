"""The instruments: neighbours, sampling, event choice, bounds, search, shrinking and verdicts.

To read them in the order of the proof: databases, sampling, outputs, events, bounds, privacy,
claims. What a user may import from here is handed out by `dpwitness` itself.
"""

if __name__ != "dpwitness.auditors":
    raise ImportError(f"import dpwitness.auditors, not {__name__}; install dpwitness first")

__all__: list[str] = []
