"""Runs the commands it is sent in one process and tells what each of them touched.

Lines of JSON come in: the words of a command, and the files that it may open. Lines go out: its
status, what it said on standard error, and every import, connection, process or file that is
neither a part of this installation nor one of these files. An audit hook sees them all.
"""

import io
import json
import os
import re
import resource
import signal
import sys
from pathlib import Path

from click.testing import CliRunner

from dpwitness.reports.ci import gate
from dpwitness.reports.cli import main

HERE = Path.cwd().resolve()
OURS = tuple(
    str(Path(place).resolve())
    for place in {sys.prefix, sys.base_prefix, Path(main.callback.__code__.co_filename).parents[1],
                  "/usr/share/zoneinfo", "/proc/self", "/proc/mounts", "/sys/fs/cgroup",
                  os.devnull, "/usr/lib", "/etc/mime.types"}
)  # fmt: skip
NEVER = ("antigravity", "this", "turtledemo", "canary")
REACHING = (
    "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.system",
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "pty.spawn", "pickle.find_class",
    "webbrowser.open", "urllib.Request",
)  # fmt: skip
WAITED = re.compile(r"/proc/\d+/schedstat")
MEMORY = 3 << 30
SECONDS = 60

watching, seen, allowed = False, [], set()


def _is_of_a_worker(event, arguments):
    """Whether this is a mechanism's worker, a copy of this process, started or giving an answer."""
    if event not in ("os.fork", "pickle.find_class"):
        return False
    frame, places = sys._getframe(), set()
    while frame is not None:
        places.add(frame.f_globals.get("__name__"))
        frame = frame.f_back
    if event == "os.fork":
        return "dpwitness.auditors.workers.children" in places
    return event == "pickle.find_class" and "dpwitness.auditors.workers.wire" in places


def watch(event, arguments):
    if not watching:
        return
    if _is_of_a_worker(event, arguments):
        return
    if event in REACHING:
        seen.append([event, repr(arguments)[:200]])
    elif event == "import" and str(arguments[0]).partition(".")[0] in NEVER:
        seen.append([event, str(arguments[0])])
    elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if os.path.basename(path) == "<unknown>":
            return  # so Python looks for the text that ast.parse could not read
        if WAITED.fullmatch(path):
            return  # how long a worker waited for a processor
        inside = path.startswith(tuple(f"{place}{os.sep}" for place in OURS)) or path in OURS
        if path not in allowed and ("canary" in path or not inside):
            seen.append([event, path])


def stopped(number, frame):
    raise TimeoutError("it took too long")


def recorded(words, root):
    """In the place of an audit in a process of its own: what one would have written."""
    return json.loads((HERE / "gated.json").read_text()), "", False


def run(words, files):
    global watching
    allowed.clear()
    allowed.update(os.path.realpath(file) for file in files)
    seen.clear()
    signal.alarm(SECONDS)
    watching = True
    try:
        done = CliRunner().invoke(main, words, input="")
    finally:
        watching = False
        signal.alarm(0)
    text = done.stderr + (repr(done.exception) if not isinstance(
        done.exception, (SystemExit, type(None))) else "")  # fmt: skip
    return {"status": done.exit_code, "said": text, "told": done.stdout, "seen": list(seen)}


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    signal.signal(signal.SIGALRM, stopped)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    gate._run = recorded
    sys.addaudithook(watch)
    answers, sys.stdout = sys.stdout, io.StringIO()
    for line in sys.stdin:
        told = run(*json.loads(line))
        print(json.dumps(told), file=answers, flush=True)
