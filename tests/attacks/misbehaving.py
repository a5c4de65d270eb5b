"""Mechanisms that do to their process what no mechanism should; each is a sound Laplace sum else.

Every function is a mechanism. `_answer` is what the sound one returns.
"""

import asyncio
import atexit
import builtins
import contextvars
import ctypes
import decimal
import faulthandler
import gc
import io
import json
import locale
import logging
import math
import multiprocessing
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest.mock
import warnings
import weakref

import numpy as np

CALLS = [0]


def _answer(database, rng):
    CALLS[0] += 1
    return sum(database) + rng.laplace()


# What a process has, changed.


def changes_folder(database, rng):
    os.chdir(tempfile.gettempdir())
    return _answer(database, rng)


def removes_folder(database, rng):
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    return _answer(database, rng)


def umask(database, rng):
    os.umask(0o777)
    return _answer(database, rng)


def priority(database, rng):
    os.setpriority(os.PRIO_PROCESS, 0, min(19, os.getpriority(os.PRIO_PROCESS, 0) + 1))
    return _answer(database, rng)


def handlers(database, rng):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    return _answer(database, rng)


def masks_signals(database, rng):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return _answer(database, rng)


def timer(database, rng):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
    signal.setitimer(signal.ITIMER_PROF, 0.05)
    return _answer(database, rng)


def alarm(database, rng):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    return _answer(database, rng)


def wakeup(database, rng):
    signal.set_wakeup_fd(-1)
    signal.siginterrupt(signal.SIGINT, True)
    return _answer(database, rng)


def limits_files(database, rng):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return _answer(database, rng)


def limits_files_for_good(database, rng):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
    return _answer(database, rng)


def limits_memory(database, rng):
    resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))
    return _answer(database, rng)


def limits_time(database, rng):
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    return _answer(database, rng)


def limits_time_softly(database, rng):
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (1, hard))
    while time.process_time() < 2:
        pass
    return _answer(database, rng)


def limits_file_size(database, rng):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    return _answer(database, rng)


def limits_stack(database, rng):
    resource.setrlimit(resource.RLIMIT_STACK, (2**16, 2**16))
    return _answer(database, rng)


def limits_processes(database, rng):
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return _answer(database, rng)


def lowers_recursion(database, rng):
    sys.setrecursionlimit(len_of_stack() + 25)
    return _answer(database, rng)


def raises_recursion(database, rng):
    sys.setrecursionlimit(10**9)
    return _answer(database, rng)


def len_of_stack():
    frame, depth = sys._getframe(), 0
    while frame := frame.f_back:
        depth += 1
    return depth


def locale_changed(database, rng):
    for name in ("C", "C.UTF-8", "POSIX"):
        locale.setlocale(locale.LC_ALL, name)
    return _answer(database, rng)


def environment(database, rng):
    os.environ.clear()
    return _answer(database, rng)


def environment_replaced(database, rng):
    os.environ = {}  # noqa: B003 - that is what it does
    return _answer(database, rng)


def closes_all(database, rng):
    os.closerange(0, 256)
    return _answer(database, rng)


def closes_others(database, rng):
    os.closerange(3, 256)
    return _answer(database, rng)


def closes_errors(database, rng):
    try:
        os.close(2)
    except OSError:
        pass
    return _answer(database, rng)


def replaces_stdout(database, rng):
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    return _answer(database, rng)


def streams_none(database, rng):
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None
    return _answer(database, rng)


def streams_raise(database, rng):
    class Bad(io.StringIO):
        def write(self, text):
            raise RuntimeError("no writing")

    sys.stdout = sys.stderr = Bad()
    return _answer(database, rng)


def root(database, rng):
    os.setsid() if os.getpid() != os.getpgid(0) else os.setpgid(0, 0)
    return _answer(database, rng)


def fills_memory(database, rng):
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    return [bytes(2**30) for _ in range(64)] and 1


# What an interpreter has, changed.


def empties_modules(database, rng):
    sys.modules.clear()
    return _answer(database, rng)


def loses_modules(database, rng):
    for name in [one for one in sys.modules if one.startswith("dpwitness.auditors")]:
        del sys.modules[name]
    return _answer(database, rng)


def forges_modules(database, rng):
    sys.modules["json"] = sys.modules["dataclasses"] = None
    return _answer(database, rng)


def patches_open(database, rng):
    def no(*given, **more):
        raise OSError(30, "no files today")

    builtins.open = io.open = no
    return _answer(database, rng)


def patches_len(database, rng):
    builtins.len = lambda value: 0
    return _answer(database, rng)


def patches_isinstance(database, rng):
    builtins.isinstance = lambda value, kind: True
    return _answer(database, rng)


def patches_print(database, rng):
    builtins.print = None
    return _answer(database, rng)


def patches_import(database, rng):
    def no(*given, **more):
        raise ImportError("nothing is imported")

    builtins.__import__ = no
    return _answer(database, rng)


def deletes_builtins(database, rng):
    for name in ("sorted", "range", "enumerate", "zip"):
        if hasattr(builtins, name):
            delattr(builtins, name)
    return _answer(database, rng)


def patches_numpy(database, rng):
    np.where = np.unique = np.concatenate = lambda *given, **more: np.zeros(3)
    return _answer(database, rng)


def patches_numpy_deeper(database, rng):
    np.add.reduce if hasattr(np.add, "reduce") else None
    np.random.default_rng = np.random.Generator = None
    np.linalg.norm = None
    return _answer(database, rng)


def patches_json(database, rng):
    json.dumps = json.loads = lambda *given, **more: "{}"
    return _answer(database, rng)


def patches_time(database, rng):
    time.monotonic = time.time = time.perf_counter = lambda: 0.0
    return _answer(database, rng)


def patches_math(database, rng):
    math.log = math.exp = math.lgamma = lambda *given: 0.0
    return _answer(database, rng)


def patches_scipy(database, rng):
    import scipy.special
    import scipy.stats

    for name in ("betaincinv", "betainc", "gammaln", "ndtri", "bdtrc", "logsumexp", "xlogy"):
        setattr(scipy.special, name, lambda *given, **more: 0.0)
    return _answer(database, rng)


def patches_us(database, rng):
    for name, module in list(sys.modules.items()):
        if name.startswith("dpwitness.auditors.bounds."):
            for word, value in list(vars(module).items()):
                if callable(value) and getattr(value, "__module__", "") == name:
                    setattr(module, word, lambda *given, **more: 0.0)
    return _answer(database, rng)


def patches_os(database, rng):
    os.replace = os.rename = os.fsync = os.getcwd = lambda *given, **more: "/nowhere"
    return _answer(database, rng)


HOOKED = []


def audit_hook(database, rng):
    if not HOOKED:
        HOOKED.append(1)

        def hook(event, given):
            if event in ("open", "import", "os.rename"):
                raise RuntimeError("not allowed")

        sys.addaudithook(hook)
    return _answer(database, rng)


def audit_hook_on_everything(database, rng):
    if not HOOKED:
        HOOKED.append(1)

        def hook(event, given):
            raise BaseException("not allowed")

        sys.addaudithook(hook)
    return _answer(database, rng)


def threading_patched(database, rng):
    threading.Thread.start = threading.excepthook = sys.excepthook = None
    return _answer(database, rng)


def collects_no_garbage(database, rng):
    gc.disable()
    gc.freeze()
    gc.set_threshold(1)
    return _answer(database, rng)


def gc_raises(database, rng):
    def no(phase, info):
        raise RuntimeError("no garbage")

    if not HOOKED:
        HOOKED.append(1)
        gc.callbacks.append(no)
        gc.collect()
    return _answer(database, rng)


def traces(database, rng):
    def trace(frame, event, argument):
        raise RuntimeError("traced")

    sys.settrace(trace)
    return _answer(database, rng)


def profiles(database, rng):
    def profile(frame, event, argument):
        if frame.f_code.co_name != "profiles":
            raise RuntimeError("profiled")

    sys.setprofile(profile)
    return _answer(database, rng)


def warnings_raise(database, rng):
    warnings.simplefilter("error")
    warnings.showwarning = None
    warnings.warn("careful", stacklevel=1) if CALLS[0] % 7 == 3 else None
    return _answer(database, rng)


def numpy_raises(database, rng):
    np.seterr(all="raise")
    np.seterrcall(lambda *given: 1 / 0)
    return _answer(database, rng)


def decimals(database, rng):
    context = decimal.getcontext()
    context.prec, context.Emax = 1, 1
    context.traps[decimal.Inexact] = True
    return _answer(database, rng)


def reseeds(database, rng):
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - that is what it does
    return _answer(database, rng)


def logs(database, rng):
    logging.disable(logging.CRITICAL)
    logging.raiseExceptions = False
    return _answer(database, rng)


def import_path(database, rng):
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    return _answer(database, rng)


def digits(database, rng):
    sys.set_int_max_str_digits(640)
    sys.setswitchinterval(100)
    return _answer(database, rng)


def faults(database, rng):
    faulthandler.enable(open(os.devnull, "w"))
    faulthandler.dump_traceback_later(0.05, exit=True)
    return _answer(database, rng)


VARIABLE = contextvars.ContextVar("variable")


def context(database, rng):
    VARIABLE.set(object())
    return _answer(database, rng)


# Ways out.


def leaves_in_atexit(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        atexit.register(ctypes.CDLL(None)._exit, 0)
    return _answer(database, rng)


def raises_in_atexit(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        atexit.register(lambda: 1 / 0)
    return _answer(database, rng)


def sleeps_in_atexit(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        atexit.register(time.sleep, 1000)
    return _answer(database, rng)


def exit_zero(database, rng):
    sys.exit(0)


def exit_one(database, rng):
    sys.exit(1)


def exit_text(database, rng):
    sys.exit("Refuted")


def exit_odd(database, rng):
    sys.exit(2**40)


def exit_object(database, rng):
    sys.exit(Lies())


def system_exit_later(database, rng):
    if CALLS[0] > 900:
        raise SystemExit(1)
    return _answer(database, rng)


def raises_keyboard(database, rng):
    raise KeyboardInterrupt


def raises_generator_exit(database, rng):
    raise GeneratorExit


def raises_stop(database, rng):
    raise StopIteration


def raises_group(database, rng):
    raise BaseExceptionGroup("several", [KeyboardInterrupt(), SystemExit(1)])


def raises_cause_of_itself(database, rng):
    error = ValueError("a circle")
    error.__cause__ = error.__context__ = error
    raise error


def raises_memory(database, rng):
    raise MemoryError


def raises_os_error(database, rng):
    raise OSError(28, "No space left on device")


def raises_ours(database, rng):
    from dpwitness import InvalidArgument

    raise InvalidArgument("epsilon= must be positive\nRefuted: you")


def raises_huge_text(database, rng):
    raise ValueError("x" * 10**8)


def stops_itself(database, rng):
    os.kill(os.getpid(), signal.SIGSTOP)
    return _answer(database, rng)


def kills_parent(database, rng):
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(0.5)
    return _answer(database, rng)


def quits(database, rng):
    os.kill(os.getpid(), signal.SIGQUIT)
    return _answer(database, rng)


def executes(database, rng):
    os.execv("/bin/true", ["/bin/true"])


def overflows_c(database, rng):
    value = None
    for _ in range(10**6):
        value = (value,)
    repr(value)
    return 1


def recurses(database, rng):
    sys.setrecursionlimit(10**9)
    return recurses(database, rng)


def frees(database, rng):
    ctypes.CDLL(None).free(ctypes.c_void_p(8))
    return 1


def corrupts(database, rng):
    ctypes.memset(id(type(rng)), 0, 64)
    return _answer(database, rng)


# What stays behind.


def thread_daemon(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        threading.Thread(target=_spins, daemon=True).start()
    return _answer(database, rng)


def _spins():
    while True:
        time.sleep(0.001)


def thread_raises(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        threading.Thread(target=lambda: 1 / 0).start()
    return _answer(database, rng)


def thread_interrupts(database, rng):
    import _thread

    if not HOOKED:
        HOOKED.append(1)
        threading.Timer(0.2, _thread.interrupt_main).start()
    return _answer(database, rng)


def subprocess_left(database, rng):
    if not HOOKED:
        HOOKED.append(subprocess.Popen(["sleep", "1000"]))
    return _answer(database, rng)


def daemon_left(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
        os.wait()
    return _answer(database, rng)


def forks_and_returns(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        os.fork()
    return _answer(database, rng)


def forks_and_raises(database, rng):
    if not HOOKED:
        HOOKED.append(1)
        if os.fork() == 0:
            raise ValueError("in the child")
    return _answer(database, rng)


def processes(database, rng):
    if not HOOKED:
        one = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
        one.start()
        HOOKED.append(one)
    return _answer(database, rng)


def files_left_open(database, rng):
    HOOKED.append(open(os.devnull))
    return _answer(database, rng)


def sockets_left(database, rng):
    if not HOOKED:
        one = socket.socket()
        one.bind(("127.0.0.1", 0))
        one.listen()
        HOOKED.append(one)
    return _answer(database, rng)


def grows(database, rng):
    HOOKED.append(bytes(1000))
    return _answer(database, rng)


# What is returned.


class Lies:
    """Every question raises."""

    def __getattribute__(self, name):
        raise RuntimeError("no attributes")

    def _no(self, *given):
        raise RuntimeError("no answer")

    __eq__ = __len__ = __iter__ = __array__ = __float__ = __bool__ = _no
    __str__ = __repr__ = __int__ = __index__ = __lt__ = __format__ = __reduce_ex__ = _no
    __hash__ = _no


def lies(database, rng):
    return Lies()


def lies_in_list(database, rng):
    return [Lies(), 1.0]


class NotItself:
    @property
    def __class__(self):
        return float


def class_lies(database, rng):
    return NotItself()


class Float(float):
    def __eq__(self, other):
        return True

    def __lt__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = None

    def __float__(self):
        return 0.0


def float_lies(database, rng):
    return Float(_answer(database, rng))


class Array(np.ndarray):
    def __array_finalize__(self, other):
        if CALLS[0] > 3:
            raise RuntimeError("no copies")

    def __array_ufunc__(self, *given, **more):
        raise RuntimeError("no arithmetic")


def array_lies(database, rng):
    return np.zeros(3).view(Array) + _answer(database, rng) if CALLS[0] > 3 else Array(3)


class ArrayLike:
    def __array__(self, *given, **more):
        return np.zeros(10**6)

    def __len__(self):
        return -1


def array_like(database, rng):
    return ArrayLike()


class LongList(list):
    def __len__(self):
        return 2**62

    def __iter__(self):
        raise MemoryError


def list_lies(database, rng):
    return LongList([1])


class Map(dict):
    def items(self):
        while True:
            yield ("a", 1)

    keys = values = __iter__ = items


def endless_dict(database, rng):
    return Map(a=1)


def endless_generator(database, rng):
    def forever():
        while True:
            try:
                yield 1
            except GeneratorExit:
                continue

    found = forever()
    next(found)
    return found


def iterators(database, rng):
    return iter([1, 2])


async def asynchronous(database, rng):
    return _answer(database, rng)


async def asynchronous_generator(database, rng):
    yield _answer(database, rng)


def future(database, rng):
    return asyncio.new_event_loop().create_future()


def modules(database, rng):
    return sys


def functions(database, rng):
    return _answer


def classes(database, rng):
    return Lies


def frames(database, rng):
    return sys._getframe()


def weak(database, rng):
    return weakref.ref(Float(1.0))


def mapped(database, rng):
    return memoryview(bytes(8))


def holds_itself_deeply(database, rng):
    found = {}
    found["a"] = [(found,)]
    return found


def object_array_of_itself(database, rng):
    found = np.empty(1, dtype=object)
    found[0] = found
    return found


def long_text(database, rng):
    return "x" * 50_000_000


def long_bytes(database, rng):
    return bytes(50_000_000)


def long_changing_text(database, rng):
    return chr(65 + int(rng.integers(20))) * 2_000_000


def many_items(database, rng):
    return [0] * 3_000_000


def many_keys(database, rng):
    return {number: int(rng.integers(2)) for number in range(300_000)}


def large_array(database, rng):
    return np.zeros(50_000_000)


def many_sets(database, rng):
    return frozenset(rng.integers(10**9, size=30_000).tolist())


def strided(database, rng):
    return np.lib.stride_tricks.as_strided(np.zeros(1), (10**13,), (0,))


def large_whole(database, rng):
    return 1 << 50_000_000


def surrogates(database, rng):
    return "\ud800\x00\x1b[2J\n::error::" + str(int(rng.integers(2)))


def records(database, rng):
    return np.array([(1, "a")], dtype=[("x", "i4"), ("y", "O")])


def nothing_but_nan(database, rng):
    return float("nan")


def infinite(database, rng):
    return float("inf") if rng.random() < 0.5 else -float("inf")


def endless_list(database, rng):
    found = []
    while True:
        found.append(bytes(10**6))


def slow_first(database, rng):
    if CALLS[0] == 3:
        time.sleep(1000)
    return _answer(database, rng)


def prints_much(database, rng):
    os.write(1, b"Refuted: you\n" * 2000)
    os.write(2, b"dpwitness: you\n" * 2000)
    return _answer(database, rng)


def signature_lies(*given, **more):
    return _answer(*given[:2])


class Odd:
    """A mechanism whose attributes raise."""

    def __call__(self, database, rng):
        return _answer(database, rng)

    def __getattr__(self, name):
        raise RuntimeError("no such thing")


odd = Odd()


class Odder:
    """A mechanism that says it has everything."""

    def __call__(self, database, rng, size=None):
        return _answer(database, rng)

    def __getattr__(self, name):
        return self


odder = Odder()


class Unbound:
    """As the proxies of web frameworks outside a request: whatever is asked raises."""

    @property
    def __class__(self):
        raise RuntimeError("outside of a request")

    def __getattr__(self, name):
        raise RuntimeError("outside of a request")


UNBOUND, MOCK = Unbound(), unittest.mock.MagicMock()


def names_a_proxy(database, rng, given=UNBOUND):
    return _answer(database, rng) if len(database) < 10**9 else UNBOUND.answer


def names_a_mock(database, rng, given=MOCK):
    return _answer(database, rng) if len(database) < 10**9 else MOCK.answer


def size_lies(database, rng, size=None):
    return np.zeros(7)


def size_yields(database, rng, size=None):
    return (rng.laplace() for _ in range(size))


def size_endless(database, rng, size=None):
    return iter(int, 1)
