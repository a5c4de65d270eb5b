"""The audit behind the fixture: a share of alpha, an old witness first, and words for a failure."""

import inspect
import json
import os
import shlex
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from traceback import walk_tb
from types import FrameType, ModuleType, TracebackType
from typing import Any

import pytest

from ...auditors.arguments import asking
from ...auditors.bounds.two_sample import epsilon_upper
from ...auditors.errors import DpWitnessError, InvalidArgument, UsesOutside
from ...auditors.evidence.conversion import counted_part, record_of
from ...auditors.evidence.derive import p_value
from ...auditors.evidence.record import ResultRecord, number
from ...auditors.looking import MOST_WRAPPED, attribute, function_of, is_a
from ...auditors.privacy.preparing import Audit, prepared
from ...auditors.privacy.request import AuditRequest
from ...auditors.privacy.rerun import recheck
from ...auditors.privacy.run import run_audit
from ...auditors.results.results import AuditResult, Verdict
from ..faces import as_text, wording
from ..history import witnesses
from ..record import evidence
from ..sharding.options import ENGINE, engine_of
from ..targets import targets
from ..writing import files
from ..writing.terminal import wrapped
from .collector import HISTORY, RUN, SHARE
from .pytest_run import PROPERTY, Line, Run, Share
from .watch import WATCH

WIDTH = 88
"""Letters of a line in the message of a failed test."""


def target_of(mechanism: object, item: pytest.Item) -> str | None:
    """A target for the command line, relative to the root of the project; None for none.

    Only what stands at the top level of a module under the root has one.
    """
    found = _module_and_name(mechanism, item)
    if found is None:
        return None
    file, name = found
    root = item.config.rootpath
    if not file.is_relative_to(root):
        return None
    return f"{file.relative_to(root).as_posix()}:{name}"


def _module_and_name(mechanism: object, item: pytest.Item) -> tuple[Path, str] | None:
    module = inspect.getmodule(mechanism) if callable(mechanism) else None
    name = str(attribute(mechanism, "__qualname__", ""))
    if module is not None and getattr(module, name, None) is mechanism:
        return _placed(module, name)
    test = getattr(item, "module", None)
    candidates = [test] if test is not None else []
    candidates += [v for v in vars(test).values() if is_a(v, ModuleType)] if test else []
    for module in candidates:
        for name, value in vars(module).items():
            if value is mechanism:
                run = inspect.getmodule(attribute(mechanism, "run"))
                home = run if run is not None and getattr(run, name, None) is mechanism else module
                return _placed(home, name)
    return None


def _placed(module: object, name: str) -> tuple[Path, str] | None:
    file = getattr(module, "__file__", None)
    return (Path(file).resolve(), name) if file else None


def source_of(mechanism: object) -> tuple[str, int] | None:
    """File and first line of the code of a mechanism, for messages that point there."""
    run: Any = attribute(mechanism, "run", mechanism)
    for _ in range(MOST_WRAPPED):  # a decorator that is a class keeps its function as `func`
        if not callable(inner := attribute(run, "func")):
            break
        run = inner
    run = function_of(run)
    try:
        file = inspect.getsourcefile(run)
        _, line = inspect.getsourcelines(run)
    except (TypeError, OSError):
        return None
    return (file, max(line, 1)) if file else None


class PrivacyViolation(AssertionError):
    """A claim was refuted; the message is the witness, `short` the same in a few words."""

    def __init__(self, message: str, short: str) -> None:
        super().__init__(message)
        self.short = short


def _from(root: Path, text: str) -> str:
    """A target or databases named from the root of the project, as they are named from here."""
    place, colon, name = text.rpartition(":")
    file = place if colon else text
    inside = targets.is_file(file) and not os.path.isabs(file)
    return f"{root / file}{colon}{name if colon else ''}" if inside else text


def _of_mechanism(error: BaseException | None) -> BaseException | None:
    """What the mechanism raised, with its own frames alone; ours tell nothing of it."""
    while isinstance(error, DpWitnessError):
        error = error.__cause__
    if error is None:
        return None
    own: list[tuple[FrameType, int]] = []
    for frame, line in walk_tb(error.__traceback__):
        ours = str(frame.f_globals.get("__name__")).partition(".")[0] == "dpwitness"
        own = [] if ours else [*own, (frame, line)]
    trace = None
    for frame, line in reversed(own):
        trace = TracebackType(trace, frame, frame.f_lasti, line)
    return error.with_traceback(trace)


class DpAudit:
    """Audits inside one test, each at its part of the test's share of alpha."""

    def __init__(self, *, item: pytest.Item, run: Run, share: Share) -> None:
        self.item, self.run, self.share = item, run, share
        self.calls = 0
        self.directory = item.config.rootpath / run.settings.directory

    def __call__(
        self, mechanism: object, **options: object
    ) -> AuditResult | tuple[AuditResult, ...]:
        """Audit the claims of `mechanism`; the result, or all of them when it has several.

        `mechanism` and `databases` may also be texts that name them, as for `dpwitness audit`,
        from the root of the project. `options` are those of `dpwitness.auditors.audit` but alpha
        and progress, which the run decides; `seed` and `trials` or `seconds` replace those of the
        run. Raises PrivacyViolation when a claim is refuted.
        """
        __tracebackhide__ = True
        try:
            with self.item.config.stash[WATCH].audits():
                return self._audited(*self._found(mechanism, options))
        except DpWitnessError as error:
            raise error.with_traceback(None) from _of_mechanism(error)

    def _found(
        self, mechanism: object, options: dict[str, object]
    ) -> tuple[object, dict[str, object]]:
        """What the texts name; InvalidArgument if something is still to be said."""
        if undecided := sorted(key for key, value in options.items() if value is ...):
            raise InvalidArgument(
                f"this test is not finished: say which {' and which '.join(undecided)}, in place "
                "of ..."
            )
        root = self.item.config.rootpath
        named = options.get("databases")
        if is_a(named, str):
            options = {**options, "databases": targets.find_databases(_from(root, named))}
        if is_a(mechanism, str):
            found = targets.find_target(_from(root, mechanism))
            options = {"target": mechanism, "name": found.name, **options}
            mechanism = found.mechanism
        return mechanism, options

    def _audited(
        self, mechanism: object, options: dict[str, Any]
    ) -> AuditResult | tuple[AuditResult, ...]:
        __tracebackhide__ = True
        number = self._begin(options)
        name = self.item.nodeid + (f" #{number}" if number > 1 else "")
        options = self._filled(mechanism, name, options)
        record = witnesses.stored(witnesses.place(self.directory, name))
        if record is not None:
            options["alpha"] /= 2  # the old witness costs half of the audit's alpha
        request = dp_audit(mechanism, **options)
        audits = prepared(request, request.budget, request.epsilon)
        again, withheld = None, None
        if record is not None:
            again, withheld = _counted_again(record, request, audits)
        results: tuple[AuditResult, ...] = ()
        if again is not None and again.refuted:
            results = (again,)
        else:
            with audits[0].sampler.engine.connected(request.workers):
                results = tuple(run_audit(one) for one in audits)
        if withheld is not None and any(result.refuted for result in results):
            # What the old witness's draws left outside their process looks like data to others.
            raise withheld
        self._tell(results, name, number, again)
        for result in results:
            if result.refuted:
                message = self._message(result, name, options["target"])
                raise PrivacyViolation(message, wording.short(result))
        self._weigh(results)
        return results[0] if len(results) == 1 else results

    def _begin(self, options: Mapping[str, object]) -> int:
        if forbidden := {"alpha", "progress"} & options.keys():
            raise InvalidArgument(
                f"dp_audit shares one alpha over the run and takes no {sorted(forbidden)[0]}; "
                "set it in [tool.dpwitness], and give a test more of it by @pytest.mark.dp(weight=)"
            )
        self.calls += 1
        if self.calls > self.share.audits:
            raise InvalidArgument(
                f"this test announced {self.share.audits} audit(s) and calls dp_audit for the "
                f"{self.calls}th time; mark it @pytest.mark.dp(audits={self.calls})"
            )
        return self.calls

    def _filled(
        self, mechanism: object, name: str, options: Mapping[str, object]
    ) -> dict[str, Any]:
        settings = self.run.settings
        budget: dict[str, object] = {"trials": settings.trials}
        if settings.notice is not None:
            budget = {"notice": settings.notice}
        if settings.seconds is not None:
            budget["seconds"] = settings.seconds
        if self.share.budget:
            budget = dict(self.share.budget)
        digest = blake2b(f"{self.run.seed}\n{name}".encode(), digest_size=6).digest()
        filled = {
            "alpha": self.share.alpha / self.share.audits,
            "seed": int.from_bytes(digest, "big"),
            "precision": None if settings.precision == "none" else settings.precision,
            **({} if {"trials", "seconds", "notice"} & options.keys() else budget),
            **({} if {"workers", "engine"} & options.keys() else self._drawing()),
            **options,
        }
        if "target" not in filled:
            filled["target"] = target_of(mechanism, self.item) or ""
        return filled

    def _drawing(self) -> dict[str, object]:
        """Who draws, by the settings.

        A worker of pytest-xdist has a core of its own and draws itself, unless a cluster does.
        """
        settings = self.run.settings
        engine = engine_of({key: getattr(settings, key) for key in ENGINE})
        if hasattr(self.item.config, "workerinput") and not (engine and engine.address):
            return {}
        return {"workers": settings.workers or 1, "engine": engine}

    def _tell(
        self,
        results: Sequence[AuditResult],
        name: str,
        place: int,
        again: AuditResult | None,
    ) -> None:
        path = witnesses.place(self.directory, name)
        had = os.path.exists(path)
        refuted = [result for result in results if result.refuted]
        if refuted and (again is None or not again.refuted):
            self._keep(path, refuted[0])
        gone = ""
        if had and not refuted and all(r.verdict is Verdict.NOT_REFUTED for r in results):
            gone = _gone(witnesses.stored(path), again, results)
        if gone:
            witnesses.retire(path)
        for index, result in enumerate(results):
            witness = gone or ("" if not had else "holds" if refuted else "kept")
            line = _line(result, 1000 * place + index, witness)
            self.item.user_properties.append((PROPERTY, json.dumps(line)))
        kept = [counted_part(record_of(result)) for result in results]
        self.item.stash.setdefault(HISTORY, []).extend(kept)
        if self.run.report is not None:
            self._report(self.run.report, results, name)

    def _keep(self, path: Path, result: AuditResult) -> None:
        data = {
            **evidence.document([result], replay=self._replay(path, result.target)),
            "test": self.item.nodeid,
        }
        try:
            witnesses.keep(path, evidence.to_text(data))
        except OSError as error:
            warnings.warn(
                pytest.PytestWarning(f"the witness was not kept: {error}; the verdict stands"),
                stacklevel=2,
            )

    def _report(self, folder: Path, results: Sequence[AuditResult], name: str) -> None:
        from ..faces.as_html import render

        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / witnesses.place(folder, name).stem
        again = self._replay(stem.with_name(f"{stem.name}.json"), results[0].target)
        data = evidence.document(results, replay=again)
        files.write_atomically(f"{stem}.json", evidence.to_text(data))
        page = render(results, data, [self._rerun()] * len(results))
        files.write_atomically(f"{stem}.html", page)

    def _rerun(self) -> str:
        return shlex.join(["pytest", self.item.nodeid, "--dp-seed", str(self.run.seed)])

    def _replay(self, path: Path, target: str) -> str:
        root = self.item.config.rootpath
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        return targets.replay_command(str(shown), target)

    def _message(self, result: AuditResult, name: str, target: str) -> str:
        path, rerun = witnesses.place(self.directory, name), self._rerun()
        replay = self._replay(path, target) if target else rerun
        kept = "Saved: the next run tests this pair first, and drops it once the code is fixed."
        return "\n".join(
            [
                as_text.render(
                    result,
                    replay=replay,
                    rerun=rerun,
                    width=WIDTH,
                    detail=self.item.config.get_verbosity() > 1,
                ),
                *wrapped(kept, WIDTH, "  "),
            ]
        )

    def _weigh(self, results: Sequence[AuditResult]) -> None:
        __tracebackhide__ = True
        weak = [r for r in results if r.verdict is Verdict.INCONCLUSIVE]
        if weak and self.run.settings.inconclusive == "fail":
            pytest.fail(wording.headline(weak[0]), pytrace=False)


def audit_of(item: pytest.Item) -> DpAudit:
    """What audits for one test, at its share; a failure of the test if it may not."""
    run = item.config.stash[RUN]
    flaky = item.get_closest_marker("flaky")
    refusal = run.refusal or (
        "the marker flaky gives a refuted audit further chances; an audit is to be run once, "
        "so take the marker off" if flaky else ""
    )  # fmt: skip
    if refusal:
        pytest.fail(f"dpwitness: {refusal}", pytrace=False)
    if SHARE not in item.stash:
        pytest.fail(
            f"dpwitness: {run.settings.lock} does not list this test, and no test that it lists "
            "was collected with it. Several machines may be running parts of these tests, and each "
            "would take the reserve for new tests. Write the lock anew with pytest --dp-lock over "
            "all tests, or collect this test with others",
            pytrace=False,
        )
    return DpAudit(item=item, run=run, share=item.stash[SHARE])


@asking(AuditRequest, first=("epsilon",))
def dp_audit(request: AuditRequest) -> AuditRequest:
    """What a test asks of the fixture, its keywords and their types checked."""
    return request


def _counted_again(
    record: ResultRecord, request: AuditRequest, audits: Sequence[Audit]
) -> tuple[AuditResult | None, UsesOutside | None]:
    """What became of the witness of an earlier run, and why no refutation is believed."""
    try:
        again = recheck(
            audits[0].subject,
            record,
            claims=tuple(one.claim for one in audits),
            trials=request.trials,
            alpha=request.alpha,
            seed=request.seed,
            timeout=request.timeout,
        )
    except UsesOutside as error:
        return None, error
    except DpWitnessError:
        return None, None  # what it was found on is no more; the audit that follows will tell
    return again, None


def _gone(
    record: ResultRecord | None, again: AuditResult | None, results: Sequence[AuditResult]
) -> str:
    """Why a witness that was not borne out is to retire; empty where it is to be kept.

    That one count more did not refute says little about a small violation: only another code, or
    an upper limit below the claim, says that it is over.
    """
    if record is None:
        return "unreadable"
    before, now = str(record.get("source", "")), {result.source for result in results}
    if before and "" not in now and before not in now:
        return "changed"
    if again is None:
        return ""
    count, claim = again.evidence.counts[-1].oriented, again.claim
    limit = epsilon_upper(
        count.hits,
        count.trials,
        delta=claim.delta,
        level=again.evidence.alpha,
        distance=claim.steps,
    )
    return "below" if limit < claim.epsilon else ""


def _line(result: AuditResult, place: int, old_witness: str) -> Line:
    return {
        "number": place,
        "mechanism": result.mechanism,
        "claim": wording.claim_phrase(result.claim),
        "verdict": result.verdict.value,
        "epsilon_lower": number(result.epsilon_lower),
        "bound": wording.bound_phrase(result),
        "claimed": result.claim.epsilon,
        "detectable_epsilon": number(result.detectable_epsilon),
        "draws": result.draws,
        "seconds": round(result.seconds, 3),
        "alpha": result.evidence.alpha,
        "p_value": p_value(result),
        "seed": result.seed,
        "target": result.target,
        "note": result.note if result.exact is None else wording.note(result),
        "old_witness": old_witness,
        "scope": result.exact.scope if result.exact and result.verdict is Verdict.PROVED else "",
    }
