"""Protocol 1 of dpwitness for Python 3.8 or later; numpy is used if it is there.

Run as `python dpwitness_client.py FILE.py:NAME` or `MODULE:NAME`. The name is a function of
(database, rng) or of (database, rng, *, size=None). What it returns is written as dpwitness would
read it in its own process: `write` takes values apart as `auditors/outputs/kinds.py` does. Beside
this file lie copies of `auditors/outputs/tables.py`, which only tables need, and of
`libraries.py`, which only objects of other libraries need."""
import array, base64, enum, importlib, importlib.util, inspect, json, os, random, sys, time, types  # noqa: E401
import datetime, decimal, fractions, ipaddress, pathlib, uuid  # noqa: E401
from collections import abc, deque
try:
    import numpy
except ImportError:
    numpy = None
try:
    import client_tables as tables
except ImportError:
    tables = None
try:
    import client_libraries as libraries
except ImportError:
    libraries = None


def find(target):
    place, _, name = target.rpartition(":")
    if not place.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return inside(importlib.import_module(place), name)
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    stem = os.path.splitext(os.path.basename(os.path.realpath(place)))[0]
    # Classes of the file are called as dpwitness calls them when it loads the file itself.
    module_name = "_dpwitness_file_" + "".join(c if c.isalnum() else "_" for c in stem)
    spec = importlib.util.spec_from_file_location(module_name, place)
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return inside(module, name)


def inside(found, path):
    for name in path.split("."):
        found = getattr(found, name)
    return found


def read(data):
    """A value from its JSON form, where objects with one "$" key stand for what JSON lacks."""
    if isinstance(data, list):
        return [read(item) for item in data]
    kind, value = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", 0)
    kinds = {"$tuple": tuple, "$set": set, "$frozenset": frozenset, "$float": float,
             "$int": int}
    if kind in kinds:
        return kinds[kind](read(value))
    if kind == "$bytes":
        return base64.b64decode(value)
    if kind == "$dict":
        return {read(key): read(item) for key, item in value}
    if kind == "$ndarray":
        return numpy.array(read(value["data"]), value["dtype"]).reshape(value["shape"])
    if kind.startswith("$"):
        raise TypeError("this client cannot read a database with " + kind)
    return {key: read(item) for key, item in data.items()} if isinstance(data, dict) else data


# --- values as dpwitness reads them -------------------------------------------------------------

SHORT = ("builtins", "decimal", "fractions", "datetime", "uuid", "collections")


def named(kind):
    return kind.__qualname__ if kind.__module__ in SHORT else kind.__module__ + "." + kind.__qualname__


def taken_apart(value, how, content):
    """A value that JSON has no form for: the name of its type, how it is read, what it holds."""
    return {"$as": [named(type(value)), how, content]}


def parts(value, how, found):
    """An object or a record by its parts, which are named by (role, name)."""
    return taken_apart(value, how, [[step[0], step[1], write(item)] for step, item in found.items()])


def pairs(value):
    items = dict.items(value) if isinstance(value, dict) else value.items()
    return [[write(key), write(item)] for key, item in items]


def text(value, told, how="text"):
    return taken_apart(value, how, [told, -1])


def write(value):
    kind = type(value)
    if kind is int and value.bit_length() >= 10000:
        return taken_apart(value, "int", hex(value))  # decimal digits would take too long
    if kind in (bool, int, str, type(None)):
        return value
    if kind is float:
        return value if abs(value) < float("inf") else {"$float": repr(value)}
    if kind is list:
        return [write(item) for item in value]
    if kind is tuple:
        return {"$tuple": [write(item) for item in value]}
    if kind is dict:
        plain = all(type(key) is str and not key.startswith("$") for key in value)
        found = pairs(value)
        return dict(found) if plain else {"$dict": found}
    if isinstance(value, enum.Enum):
        return text(value, kind.__qualname__ + "." + str(value._name_))
    if numpy is not None and isinstance(value, (numpy.generic, numpy.ndarray)):
        return write_numpy(value, kind)
    return write_other(value, kind)


def write_numpy(value, kind):
    masked = isinstance(value, numpy.ma.MaskedArray)
    if isinstance(value, numpy.ndarray) and not masked:
        return write_array(value, kind)
    if isinstance(value, numpy.void):
        names = value.dtype.names
        found = {("key", repr(name)): value[name] for name in names} if names else {
            ("field", "bytes"): value.tobytes()}
        return parts(value, "object", found)
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        count = None if numpy.isnat(value) else int(value.astype(numpy.int64))
        unit = numpy.datetime_data(value.dtype)[0]
        return parts(value, "object", {("field", "unit"): unit, ("field", "count"): count})
    if masked:
        return write_other(value, kind)
    return {"$numpy": [value.dtype.str, exact(value.item(), value.dtype)]}


def exact(item, dtype):
    """An entry of an array; what a double does not hold as its text."""
    return str(item) if dtype.kind == "f" and dtype.itemsize > 8 else write(item)


def write_array(value, kind):
    dtype = value.dtype
    flat = numpy.asarray(value).ravel()
    shape = list(value.shape)
    if dtype.names is not None:
        kinds = [[name, dtype[name].str] for name in dtype.names]
        rows = [[write(item) for item in row] for row in flat.tolist()]
        found = {"$records": {"dtype": kinds, "shape": shape, "data": rows}}
    else:
        flat = flat.astype(numpy.int64) if dtype.kind in "mM" else flat
        name = "object" if dtype.hasobject else dtype.str
        data = [exact(item, dtype) for item in flat.tolist()]
        found = {"$ndarray": {"dtype": name, "shape": shape, "data": data}}
    return found if kind is numpy.ndarray else taken_apart(value, "array", found)


def write_other(value, kind):
    """Everything that is neither JSON's nor numpy's, in the order in which dpwitness asks."""
    if isinstance(value, float):
        return taken_apart(value, "float", write(float.__float__(value)))
    if isinstance(value, int):
        return taken_apart(value, "int", int.__int__(value))
    if isinstance(value, (abc.Coroutine, types.AsyncGeneratorType, abc.Iterator)):
        raise TypeError("the output is " + called(kind) + "; return its values, for instance as a list")
    opened = tables.open_table(kind) if tables is not None else None
    if opened is not None:
        return parts(value, "object", opened(value))
    nothing = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
               types.ModuleType, types.CodeType, types.FrameType, types.TracebackType)
    if isinstance(value, nothing):
        return text(value, called(kind), "all")
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        found = {("field", name): item for name, item in zip(kind._fields, tuple.__iter__(value))}
        return parts(value, "record", found)
    for types_, written in WRITTEN:
        if isinstance(value, types_):
            return written(value)
    return write_object(value, kind)


def called(kind):
    """The class with its article, as `kinds` has it."""
    name = named(kind)
    return ("an " if name[:1].lower() in "aeiou" else "a ") + name


def write_object(value, kind):
    """A class that nothing else is known of: attributes if it holds any, else its text."""
    held = attributes(value)
    if held:
        return parts(value, "object", held)
    if kind.__repr__ is object.__repr__:
        return text(value, called(kind), "all")
    printed = repr(value)
    if " at 0x" in printed:
        return text(value, called(kind), "all")
    return text(value, printed, "printed")


def attributes(value):
    """The attributes an object holds; `tables` reads those of slots too."""
    if tables is not None:
        return tables.attributes(value)
    held = getattr(value, "__dict__", None)
    return {("field", str(name)): item for name, item in held.items()} if type(held) is dict else {}


def base64ed(tag, value):
    return {tag: base64.b64encode(bytes(value)).decode()}


def moment(value):
    if value.tzinfo is None:
        return {"$datetime": value.isoformat()}
    start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return parts(value, "object", {
        ("field", "timestamp()"): (value - start) / datetime.timedelta(seconds=1),
        ("field", "microsecond"): value.microsecond,
        ("field", "tzinfo"): repr(value.tzinfo), ("field", "fold"): value.fold})


def typed(value):
    code, entries = value.typecode, value.tolist()
    if numpy is None:
        return taken_apart(value, "list", write(entries))
    found = numpy.array(entries, None if code in "uw" else code)
    return taken_apart(value, "array", write_array(found, numpy.ndarray))


def all_of(value, kind):
    return sorted((write(item) for item in kind.__iter__(value)), key=json.dumps)


WRITTEN = (
    (str, lambda v: taken_apart(v, "text", [str.__repr__(v), str.__len__(v)])),
    (bytes, lambda v: base64ed("$bytes", v)),
    (bytearray, lambda v: base64ed("$bytearray", v)),
    (memoryview, lambda v: taken_apart(v, "text", [repr(v.tobytes()), v.nbytes])),
    ((type(Ellipsis), type(NotImplemented)), lambda v: text(v, repr(v))),
    (decimal.Decimal, lambda v: {"$decimal": str(decimal.Decimal(v))}),
    (fractions.Fraction, lambda v: {"$fraction": "%d/%d" % (v.numerator, v.denominator)}),
    (datetime.datetime, moment),
    (datetime.date, lambda v: {"$date": v.isoformat()}),
    (datetime.timedelta, lambda v: {"$timedelta": [v.days, v.seconds, v.microseconds]}),
    (datetime.time, lambda v: text(v, repr(v))),
    (uuid.UUID, lambda v: {"$uuid": str(v)}),
    (pathlib.PurePath, lambda v: text(v, repr(str(v)))),
    ((ipaddress.IPv4Address, ipaddress.IPv6Address), lambda v: text(v, repr(str(v)))),
    (complex, lambda v: {"$complex": [write(v.real), write(v.imag)]}),
    ((range, slice), lambda v: parts(v, "object", {
        ("field", name): getattr(v, name) for name in ("start", "stop", "step")})),
    (list, lambda v: taken_apart(v, "list", [write(item) for item in list.__iter__(v)])),
    (tuple, lambda v: taken_apart(v, "list", [write(item) for item in tuple.__iter__(v)])),
    (deque, lambda v: taken_apart(v, "list", [write(item) for item in deque.__iter__(v)])),
    (array.array, typed),
    (frozenset, lambda v: {"$frozenset": all_of(v, frozenset)} if type(v) is frozenset
     else taken_apart(v, "set", all_of(v, frozenset))),
    (set, lambda v: {"$set": all_of(v, set)} if type(v) is set
     else taken_apart(v, "set", all_of(v, set))),
    ((dict, types.MappingProxyType), lambda v: taken_apart(v, "mapping", pairs(v))),
    ((abc.KeysView, abc.ValuesView, abc.ItemsView),
     lambda v: taken_apart(v, "list", [write(item) for item in v])),
)


# --- the protocol -------------------------------------------------------------------------------

def line(value):
    return json.dumps(write(value)).encode() + b"\n"


def kept(output):
    """An output as it is now: a number itself, anything else already written."""
    number = type(output) in (float, int, bool) or (
        numpy is not None and isinstance(output, (numpy.number, numpy.bool_)))
    return output if number else line(output)


def answer_singles(name, outputs):
    """Numbers of one type as raw bytes, everything else as lines."""
    kinds = {type(item) for item in outputs}
    kind = kinds.pop() if len(kinds) == 1 and sys.byteorder == "little" else bytes
    if kind is float:
        return raw(name, "<f8", [len(outputs)], array.array("d", outputs).tobytes(), "float")
    if kind not in (bytes, int, bool):
        found = numpy.array(outputs)
        if found.dtype.kind in "biuf" and found.itemsize <= 8:
            return raw(name, found.dtype.str, [len(outputs)], found.tobytes(), "numpy")
    header = {"id": name, "lines": len(outputs)}
    lines = [item if type(item) is bytes else line(item) for item in outputs]
    return json.dumps(header).encode() + b"\n" + b"".join(lines)


def answer(name, outputs):
    """What a call with size= returned: numbers as raw bytes, a list as lines, else one value."""
    if type(outputs) is list:
        return answer_singles(name, [kept(item) for item in outputs])
    if numpy is not None and type(outputs) is numpy.ndarray and sys.byteorder == "little":
        dtype = outputs.dtype
        if outputs.ndim and dtype.kind in "biuf" and dtype.itemsize <= 8 and dtype.isnative:
            return raw(name, dtype.str, list(outputs.shape), outputs.tobytes())
    return json.dumps({"id": name, "whole": True}).encode() + b"\n" + line(outputs)


def raw(name, dtype, shape, body, each=None):
    header = {"id": name, "dtype": dtype, "shape": shape}
    if each:
        header["each"] = each  # single outputs, which were of this type
    return json.dumps(header).encode() + b"\n" + body


GENERATORS = {"torch": "manual_seed"}
"""Global generators of libraries that a function may load while it runs."""


def seed_all(seed):
    random.seed(seed)
    if numpy is not None:  # packages that draw from the global states replay too
        numpy.random.seed([seed % 2**32, seed >> 32])
    for library, function in GENERATORS.items():
        if library in sys.modules:
            getattr(sys.modules[library], function)(seed)
    return random.Random(seed) if numpy is None else numpy.random.default_rng(seed)


def draw(function, whole, request, out):
    loaded = sys.modules.keys() & GENERATORS
    made = drawn(function, whole, request, out)
    # What was loaded by a call was not seeded before it.
    return made if sys.modules.keys() & GENERATORS == loaded else drawn(function, whole, request, out)


def drawn(function, whole, request, out):
    outputs, spoke = [], time.time()
    rng, database = seed_all(request["seed"]), read(request["database"])
    if whole:
        return answer(request["id"], function(database, rng, size=request["size"]))
    while len(outputs) < request["size"]:
        outputs.append(kept(function(database, rng)))
        if time.time() > spoke + 1:
            spoke = time.time()
            out(b'{"id": %d, "working": true}\n' % request["id"])
    return answer_singles(request["id"], outputs)


def greeting(target):
    """The function that the target names, and how the client introduces itself."""
    place, _, name = target.rpartition(":")
    name, released = libraries.named(name) if libraries is not None else (name, ())
    function, said = find(place + ":" + name), {"dpwitness": 1, "name": name}
    try:
        opened = libraries.opened(function, name, released) if libraries is not None else None
    except TypeError as error:
        return None, {"error": str(error)}
    if opened is not None:
        function = opened.run
        said.update(opened.said, seeded=opened.seeded)
    said["block"] = 32768 if "size" in inspect.signature(function).parameters else 1024
    return function, said


def told(error):
    """What an exception says, and where it was raised."""
    first, _, rest = (str(error) or "?").partition("\n")
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    place = os.path.basename(trace.tb_frame.f_code.co_filename)
    return "%s at %s:%d" % (first, place, trace.tb_lineno) + ("\n" + rest if rest else "")


def main(target):
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the mechanism prints must not reach the protocol
    out = lambda data: (pipe.write(data), pipe.flush())  # noqa: E731
    function, said = greeting(target)
    sys.stdin.readline()
    out(json.dumps(said).encode() + b"\n")
    whole = said.get("block") == 32768
    for line in sys.stdin:
        request = json.loads(line)
        try:
            out(draw(function, whole, request, out))
        except Exception as error:
            failed = {"id": request["id"], "type": named(type(error)), "error": told(error)}
            out(json.dumps(failed).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
