"""Tables and sparse matrices of other libraries, and plain objects, taken apart into their parts.

None of the libraries is imported: a value of one can only come from a program that has it loaded.
The client of `remote` takes a copy of this file along, so it stands alone and Python 3.8 reads it.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import numpy as np

Step = Tuple[str, str]
Parts = Dict[Any, Any]


def attributes(value: Any) -> Parts:
    """The attributes an object holds, from its slots and its dictionary."""
    found: Parts = {}
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            hidden = name.startswith("__") and not name.endswith("__")
            kept = f"_{base.__name__.lstrip('_')}{name}" if hidden else name
            try:
                found["field", name] = object.__getattribute__(value, kept)
            except AttributeError:
                continue
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return found
    if isinstance(held, dict):
        found.update({("field", str(name)): item for name, item in dict.items(held)})
    return found


def open_table(kind: type) -> Callable[[Any], Parts] | None:
    """A function that gives the parts of such a value; None for any other type."""
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        found = _OPENERS.get((library, base.__name__))
        if found is not None:
            return found
        if library == "scipy" and base.__name__ in ("sparray", "spmatrix", "_spbase"):
            return _sparse
    return None


def _cells(values: Any) -> object:
    """A column as an array where numpy holds its entries as they are, else as a list."""
    found = np.asarray(values)
    if found.dtype.kind in "biufSU" and found.ndim == 1:
        return found
    return list(values)


def _named_cells(names: list[Any], columns: list[Any]) -> Parts:
    found: Parts = {}
    for name, column in zip(names, columns):
        text, number = repr(name), 1
        step: Step = ("key", text)
        while step in found:
            number += 1
            step = ("key", f"{text} #{number}")
        found[step] = column
    return found


def _pandas_column(values: Any) -> object:
    # Extension types answer None, NaN and NA in their own ways; as objects they keep them.
    if isinstance(values.dtype, np.dtype):
        return _cells(values.to_numpy())
    return list(values)


def _dtype(dtype: Any) -> str:
    """The dtype in full: the name of a categorical one leaves its categories out."""
    return repr(dtype) if hasattr(dtype, "categories") else str(dtype)


def _pandas_frame(frame: Any) -> Parts:
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    return {
        **_named_cells(list(frame.columns), [_pandas_column(c) for c in columns]),
        ("field", "shape"): tuple(frame.shape),
        ("field", "columns"): list(frame.columns),
        ("field", "dtypes"): [_dtype(column.dtype) for column in columns],
        ("field", "index"): frame.index,
        ("field", "attrs"): dict(frame.attrs),
    }


def _pandas_series(series: Any) -> Parts:
    return {
        ("field", "values"): _pandas_column(series),
        ("field", "index"): series.index,
        ("field", "dtype"): _dtype(series.dtype),
        ("field", "name"): series.name,
        ("field", "attrs"): dict(series.attrs),
    }


def _pandas_index(index: Any) -> Parts:
    return {
        ("field", "values"): _pandas_column(index),
        ("field", "dtype"): _dtype(index.dtype),
        ("field", "names"): list(index.names),
    }


def _pandas_array(array: Any) -> Parts:
    return {("field", "values"): list(array), ("field", "dtype"): _dtype(array.dtype)}


def _timestamp(stamp: Any) -> Parts:
    """Nanoseconds since 1970 and the time zone."""
    return {
        ("field", "value"): int(stamp.value),
        ("field", "unit"): str(getattr(stamp, "unit", "ns")),
        ("field", "tzinfo"): str(getattr(stamp, "tzinfo", None)),
    }


def _nothing(value: Any) -> Parts:
    return {("field", "missing"): None}


def _polars_series(series: Any) -> Parts:
    return {
        ("field", "values"): series.to_list(),
        ("field", "dtype"): str(series.dtype),
        ("field", "name"): series.name,
    }


def _polars_frame(frame: Any) -> Parts:
    columns = frame.get_columns()
    return {
        **_named_cells(frame.columns, [column.to_list() for column in columns]),
        ("field", "shape"): tuple(frame.shape),
        ("field", "columns"): list(frame.columns),
        ("field", "dtypes"): [str(column.dtype) for column in columns],
    }


def _sparse(matrix: Any) -> Parts:
    """Shape, format and the entries that are stored, in the order they are stored."""
    entries = matrix.tocoo()
    places = list(getattr(entries, "coords", (entries.row, entries.col)))
    return {
        ("field", "shape"): tuple(int(size) for size in matrix.shape),
        ("field", "format"): str(matrix.format),
        ("field", "toarray()"): matrix.toarray() if np.prod(matrix.shape) <= 4096 else None,
        ("field", "coords"): [np.asarray(axis) for axis in places],
        ("field", "data"): np.asarray(entries.data),
    }


def _torch_tensor(tensor: Any) -> Parts:
    held = tensor.detach().cpu().resolve_conj().resolve_neg()
    try:
        return {("field", "values"): held.numpy()}
    except TypeError:  # numpy has no bfloat16
        return {("field", "values"): held.double().numpy()}


def _array(array: Any) -> Parts:
    return {("field", "values"): np.asarray(array)}


def _masked(array: Any) -> Parts:
    return {
        ("field", "data"): np.asarray(array.data),
        ("field", "mask"): np.ma.getmaskarray(array),
        ("field", "fill_value"): array.fill_value,
    }


_OPENERS: Dict[Tuple[str, str], Callable[[Any], Parts]] = {
    ("pandas", "DataFrame"): _pandas_frame,
    ("pandas", "Series"): _pandas_series,
    ("pandas", "Index"): _pandas_index,
    ("pandas", "ExtensionArray"): _pandas_array,
    ("pandas", "Timestamp"): _timestamp,
    ("pandas", "Timedelta"): _timestamp,
    ("pandas", "NaTType"): _nothing,
    ("pandas", "NAType"): _nothing,
    ("polars", "DataFrame"): _polars_frame,
    ("polars", "Series"): _polars_series,
    ("numpy", "MaskedArray"): _masked,
    ("torch", "Tensor"): _torch_tensor,
    ("jaxlib", "ArrayImpl"): _array,
}
