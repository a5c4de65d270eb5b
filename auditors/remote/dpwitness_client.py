"""Protocol 1 of dpwitness for Python 3.8 or later, alone in its file; numpy is used if it is there.

Run as `python dpwitness_client.py FILE.py:NAME` or `MODULE:NAME`. The name is a function of
(database, rng) or of (database, rng, *, size=None)."""
import array, base64, importlib, inspect, json, os, random, runpy, sys, time  # noqa: E401
try:
    import numpy
except ImportError:
    numpy = None

def find(target):
    place, _, name = target.rpartition(":")
    is_file = place.endswith(".py")
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)) if is_file else os.getcwd())
    return runpy.run_path(place)[name] if is_file else getattr(importlib.import_module(place), name)

def read(data):
    """A value from its JSON form, where objects with one "$" key stand for what JSON lacks."""
    if isinstance(data, list):
        return [read(item) for item in data]
    kind, value = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", 0)
    kinds = {"$tuple": tuple, "$set": set, "$frozenset": frozenset, "$float": float}
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

def write(value):
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        plain = all(isinstance(key, str) and not key.startswith("$") for key in value)
        pairs = [[write(key), write(item)] for key, item in value.items()]
        return dict(pairs) if plain else {"$dict": pairs}
    if isinstance(value, (list, tuple)):
        items = [write(item) for item in value]
        return {"$tuple": items} if isinstance(value, tuple) else items
    return value if isinstance(value, (int, float, str, type(None))) else repr(value)

def answer(name, outputs):
    """Numbers as raw bytes, everything else as lines of JSON."""
    kinds = {type(item) for item in outputs} if isinstance(outputs, list) else ()
    if kinds == {float} and sys.byteorder == "little":
        header = {"id": name, "dtype": "<f8", "shape": [len(outputs)]}
        body = array.array("d", outputs).tobytes()
    elif hasattr(outputs, "dtype") and outputs.dtype.kind in "biuf" and outputs.itemsize <= 8:
        raw = outputs.astype(outputs.dtype.newbyteorder("<"))
        header = {"id": name, "dtype": raw.dtype.str.replace("=", "<"), "shape": list(raw.shape)}
        body = raw.tobytes()
    else:
        outputs = list(zip(*outputs)) if isinstance(outputs, tuple) else outputs
        header = {"id": name, "lines": len(outputs)}
        body = b"".join(json.dumps(write(item)).encode() + b"\n" for item in outputs)
    return json.dumps(header).encode() + b"\n" + body

def draw(function, whole, request, out):
    seed, outputs, spoke = request["seed"], [], time.time()
    random.seed(seed)
    rng = random.Random(seed)
    if numpy is not None:  # packages that draw from the global states replay too
        numpy.random.seed([seed % 2**32, seed >> 32])
        rng = numpy.random.default_rng(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    database = read(request["database"])
    if whole:
        return answer(request["id"], function(database, rng, size=request["size"]))
    while len(outputs) < request["size"]:
        outputs.append(function(database, rng))
        if time.time() > spoke + 1:
            spoke = time.time()
            out(b'{"id": %d, "working": true}\n' % request["id"])
    return answer(request["id"], outputs)

def main(target):
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the mechanism prints must not reach the protocol
    out = lambda data: (pipe.write(data), pipe.flush())  # noqa: E731
    function = find(target)
    whole, name = "size" in inspect.signature(function).parameters, target.rpartition(":")[2]
    sys.stdin.readline()
    greeting = {"dpwitness": 1, "name": name, "block": 32768 if whole else 1024}
    out(json.dumps(greeting).encode() + b"\n")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            out(draw(function, whole, request, out))
        except Exception as error:
            failed = {"id": request["id"], "type": type(error).__name__, "error": str(error) or "?"}
            out(json.dumps(failed).encode() + b"\n")

if __name__ == "__main__":
    main(sys.argv[1])
