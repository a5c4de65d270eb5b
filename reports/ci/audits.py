"""The audit behind the fixture: a share of alpha, an old witness first, and words for a failure."""

import json
import shlex
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import inf, isfinite
from pathlib import Path
from typing import Any

import pytest

from ...auditors.bounds.two_sample import epsilon_upper
from ...auditors.errors import DpWitnessError, InvalidArgument
from ...auditors.privacy import request
from ...auditors.privacy.p_value import p_value
from ...auditors.privacy.recheck import recheck
from ...auditors.privacy.run import audit_claims
from ...auditors.results import AuditResult, Verdict
from .. import files, targets
from ..faces import as_text, wording
from ..record import evidence
from . import witnesses
from .locate import target_of
from .state import HISTORY, PROPERTY, Run, Share

WIDTH = 88
DRAWN = ("growth", "sketch", "witness")
"""What is for pictures and pages; the history does without."""
STATED = ("epsilon", "delta", "relation", "distance", "pair")


class PrivacyViolation(AssertionError):
    """A claim was refuted; the message is the witness."""


class DpAudit:
    """Audits inside one test, each at its part of the test's share of alpha."""

    def __init__(self, *, item: pytest.Item, run: Run, share: Share) -> None:
        self.item, self.run, self.share = item, run, share
        self.calls = 0
        self.directory = item.config.rootpath / run.settings.directory

    def __call__(self, mechanism: Any, **options: Any) -> AuditResult | tuple[AuditResult, ...]:
        """Audit the claims of `mechanism`; the result, or all of them when it has several.

        `options` are those of `dpwitness.auditors.audit` but alpha and progress, which the run
        decides; `seed` and `trials` or `seconds` replace those of the run. Raises
        PrivacyViolation when a claim is refuted.
        """
        __tracebackhide__ = True
        number = self._begin(options)
        name = self.item.nodeid + (f" #{number}" if number > 1 else "")
        options = self._filled(mechanism, name, options)
        again = self._old_witness(mechanism, name, options)
        found = () if again is None or not again.refuted else (again,)
        results = found or audit_claims(mechanism, **options)
        self._tell(results, name, number, again)
        for result in results:
            if result.refuted:
                raise PrivacyViolation(self._message(result, name, options))
        self._weigh(results)
        return results[0] if len(results) == 1 else results

    def _begin(self, options: Mapping[str, Any]) -> int:
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

    def _filled(self, mechanism: Any, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        settings = self.run.settings
        budget: dict[str, Any] = {"trials": settings.trials}
        if settings.seconds is not None:
            budget["seconds"] = settings.seconds
        if self.share.budget:
            budget = dict(self.share.budget)
        digest = blake2b(f"{self.run.seed}\n{name}".encode(), digest_size=6).digest()
        filled = {
            "alpha": self.share.alpha / self.share.audits,
            "seed": int.from_bytes(digest, "big"),
            "precision": None if settings.precision == "none" else settings.precision,
            **({} if {"trials", "seconds"} & options.keys() else budget),
            **options,
        }
        if "target" not in filled:
            filled["target"] = target_of(mechanism, self.item) or ""
        return filled

    def _old_witness(
        self, mechanism: Any, name: str, options: dict[str, Any]
    ) -> AuditResult | None:
        """What became of the witness of an earlier run; it costs half of the audit's alpha."""
        path = witnesses.place(self.directory, name)
        record = witnesses.stored(path)
        if record is None:
            return None
        options["alpha"] /= 2
        subject = request.subject(mechanism, "", "", options.get("seeded"))
        stated: dict[str, Any] = {key: options.get(key) for key in STATED}
        try:
            return recheck(
                subject,
                record,
                claims=request.claims(subject, **stated),
                trials=int(options.get("trials", 200_000)),
                alpha=options["alpha"],
                seed=options["seed"],
                timeout=options.get("timeout", 10.0),
            )
        except DpWitnessError:
            return None  # what it was found on is no more; the audit that follows will tell

    def _tell(
        self,
        results: Sequence[AuditResult],
        name: str,
        number: int,
        again: AuditResult | None,
    ) -> None:
        path = witnesses.place(self.directory, name)
        had = path.exists()
        refuted = [result for result in results if result.refuted]
        if refuted and (again is None or not again.refuted):
            self._keep(path, refuted[0])
        gone = ""
        if had and not refuted and all(r.verdict is Verdict.NOT_REFUTED for r in results):
            gone = _gone(witnesses.stored(path), again, results)
        if gone:
            witnesses.retire(path)
        for index, result in enumerate(results):
            record = _record(result, 1000 * number + index)
            record["old_witness"] = gone or ("" if not had else "holds" if refuted else "kept")
            self.item.user_properties.append((PROPERTY, json.dumps(record)))
        kept = evidence.document(results, replay="")["results"]
        self.item.stash.setdefault(HISTORY, []).extend(
            {key: value for key, value in result.items() if key not in DRAWN} for result in kept
        )
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

    def _message(self, result: AuditResult, name: str, options: Mapping[str, Any]) -> str:
        path, rerun = witnesses.place(self.directory, name), self._rerun()
        replay = self._replay(path, options["target"]) if options["target"] else rerun
        kept = (
            "The witness is kept and counted first in the next run; it retires when the code has "
            "changed and it no longer holds."
        )
        return "\n".join(
            [
                as_text.render(result, replay=replay, rerun=rerun, width=WIDTH),
                *as_text.wrapped(kept, WIDTH, "  "),
            ]
        )

    def _weigh(self, results: Sequence[AuditResult]) -> None:
        __tracebackhide__ = True
        weak = [r for r in results if r.verdict is Verdict.INCONCLUSIVE]
        if weak and self.run.settings.inconclusive == "fail":
            pytest.fail(f"{wording.headline(weak[0])} {weak[0].note}", pytrace=False)


def _gone(
    record: Mapping[str, Any] | None, again: AuditResult | None, results: Sequence[AuditResult]
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
        distance=claim.distance,
    )
    return "below" if limit < claim.epsilon else ""


def _record(result: AuditResult, number: int) -> dict[str, Any]:
    """What the controller needs of one result, as JSON data."""
    return {
        "number": number,
        "mechanism": result.mechanism,
        "claim": wording.claim_phrase(result.claim),
        "verdict": result.verdict.value,
        "epsilon_lower": _finite(result.epsilon_lower),
        "detectable_epsilon": _finite(result.detectable_epsilon),
        "draws": result.draws,
        "seconds": round(result.seconds, 3),
        "alpha": result.evidence.alpha,
        "p_value": p_value(result),
        "seed": result.seed,
        "target": result.target,
        "note": result.note,
    }


def _finite(value: float) -> float | str:
    return value if isfinite(value) else "inf" if value == inf else "-inf"
