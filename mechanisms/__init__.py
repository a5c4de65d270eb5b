"""Mechanisms that state what they promise, and the types to state it in.

The types are in `model`, and `dpwitness` hands them out. One folder holds one system: its
algorithms, their exact laws, its theorems and its broken twins. `catalogue` lists them all, and is
loaded only when asked for.
"""

if __name__ != "dpwitness.mechanisms":
    raise ImportError(f"import dpwitness.mechanisms, not {__name__}; install dpwitness first")

__all__: list[str] = []
