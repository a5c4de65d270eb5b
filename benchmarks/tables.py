"""Write benchmarks/README.md and a figure for each table from the JSON of the benchmarks.

    python benchmarks/power.py sniper --search --seeds 1 --json benchmarks/results/search.json
    python benchmarks/power.py given --seeds 3 --json benchmarks/results/given.json
    python benchmarks/power.py weak --seeds 5 --json benchmarks/results/weak-1e6.json
    python benchmarks/power.py weak --trials 1e5 --seeds 5 --json benchmarks/results/weak-1e5.json
    python benchmarks/stopping.py --seeds 24 --json benchmarks/results/stopping.json
    python benchmarks/needles.py --seeds 10 --json benchmarks/results/needles.json
    python benchmarks/output_cost.py --json benchmarks/results/output_cost.json
    python benchmarks/sight.py --json benchmarks/results/sight.json
    python benchmarks/cause.py mutants --faults 4 --json benchmarks/results/cause.json
    python benchmarks/cause.py foreign --json benchmarks/results/cause.json
    python benchmarks/clients.py --json benchmarks/results/clients.json
    python benchmarks/boundary.py --json benchmarks/results/boundary.json
    python benchmarks/quiet.py --python OLD NEW --json benchmarks/results/quiet.json
    python benchmarks/beside.py --python OLD NEW --json benchmarks/results/beside.json
    python benchmarks/tables.py

A row that a JSON file does not have was not run, and is named as such.
"""

import json
from collections import Counter
from pathlib import Path

import needles
import output_cost
import sight
from boundary import LEVELS, OF_LONG, SUBJECTS
from stopping import GROSS
from subjects import TABLES

HERE = Path(__file__).parent
RESULTS = HERE / "results"
MISSING = "not run"

HEAD = """# Benchmarks

Twelve tables, each printed by one command, which writes JSON; `python benchmarks/tables.py` draws
the figures and writes this page from the JSON, so no figure here is typed. CPU times are of one
process on two x86-64 cores, without those of the process in which the mechanism runs; those of
tables 1 to 4, 6, 10 and 11 were read while much other work ran. A row that says
"not run" was not measured, and nothing is said about it.
"""


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(map(said, row)) + " |" for row in rows)])


def said(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def loaded(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}


def about(found, command):
    known = {**found, **found.get("about", {})}
    parts = [
        f"{said(known[key])} {what}"
        for key, what in (
            ("trials", "trials a side"),
            ("seeds", f"seeds (from {known.get('first seed', 0)})"),
        )
        if isinstance(known.get(key), int)
    ]
    parts += [f"alpha {known['alpha']}"] if "alpha" in known else []
    parts += [f"seed {known['seed']}"] if "seed" in known else []
    machine = ", ".join(
        f"{name}{known[key]}"
        for name, key in (("", "machine"), ("Python ", "python"), ("numpy ", "numpy"), ("", "date"))
        if key in known
    )
    told = "; ".join(filter(None, (", ".join(parts), machine or MISSING)))
    return f"`{command}`: {told}.\n"


def powers(name, wanted, command, *, published):
    found = loaded(name)
    rows, seen = [], {row["name"]: row for row in found["rows"]}
    for subject in wanted:
        row = seen.get(subject.name)
        peers = " / ".join(map(str, subject.published)) if subject.published else "-"
        tail = [peers] if published else []
        if row is None:
            rows.append([subject.name, MISSING, *["-"] * 6, *tail])
            continue
        rest = max(0.0, row["cpu"] - row["sampling cpu"])
        rows.append([
            row["name"], row["true"], row["oracle"], row["mean"], row["ratio"],
            f"{row['draws']:.3g}", row["sampling cpu"], rest, *tail,
        ])  # fmt: skip
    columns = [
        "mechanism", "true epsilon", "bound of the best event", "our bound", "ratio",
        "draws in all", "CPU s of sampling", "CPU s of the rest",
    ]  # fmt: skip
    if published:
        columns.append("published, regression / network")
    told = {n: row["ratio"] for n, row in seen.items() if row["ratio"] is not None}
    bars(name, told, "bound over that of the best event")
    return about(found, command) + "\n" + table(columns, rows)


def stopping():
    found, old = loaded("stopping"), loaded("stopping-878604e")
    before = {(r["group"], r["case"]): r["draws"] for r in old["rows"]}
    rows = [
        [r["group"], r["case"], f"{r['refuted']} of {r['of']}", r["decided"], r["draws"],
         before.get((r["group"], r["case"])), r["most draws"], r["target"], r["cpu"]]
        for r in found["rows"]
    ]  # fmt: skip
    run = {(r["group"], r["case"]) for r in found["rows"]}
    rows += [
        [*case, MISSING, None, None, draws, None, None, None]
        for case, draws in before.items()
        if case not in run
    ]
    over = [
        sum(r["draws"] > GROSS for r in some if r["group"] == "control")
        for some in (found["rows"], old["rows"])
    ]
    bars("stopping", {r["case"]: r["draws"] for r in found["rows"]}, "draws in all", log=True)
    columns = [
        "group", "case", "refuted", "decided after, a side", "draws in all", "draws at 878604e",
        "at most", "target", "CPU s",
    ]  # fmt: skip
    earlier = Counter((r["date"], r["group"]) for r in found["rows"] if r["date"] < found["date"])
    kept = "".join(
        f" {many} rows ({group}) are of {day}." for (day, group), many in earlier.items()
    )
    said = (
        f"At 878604e, {old.get('about', '')}. Controls that take more than {GROSS:,} draws: "
        f"{over[0]} now, {over[1]} then.{kept}\n"
    )
    return about(found, "stopping.py") + "\n" + said + "\n" + table(columns, rows)


def edges():
    found = loaded("boundary")
    known = {row["subject"]: row for row in found["rows"]}
    parts = [("runs", "alone", 2), ("judged", "with the count", 2), ("long", OF_LONG, 1)]
    rows = []
    for name in SUBJECTS:
        row, cells = known.get(name, {}), [name, known.get(name, {}).get("delta", MISSING)]
        for runs, part, size in parts:
            told = row.get(part, ["-"] * size)
            cells += [row.get(runs, MISSING), *(told if size > 1 or part not in row else [told])]
        rows.append(cells)
    levels = [f"{level:g}" for level in LEVELS]
    columns = [
        "subject", "delta", "runs", *(f"bets alone, {level}" for level in levels),
        "runs with the count", *(f"with the count, {level}" for level in levels),
        "runs of 8,000 draws", f"of 8,000 draws, {levels[-1]}",
    ]  # fmt: skip
    days = Counter((row.get(f"{part} on"), part) for row in found["rows"] for _, part, _ in parts)
    earlier = "".join(
        f" {many} rows ({part}) are of {day}."
        for (day, part), many in days.items()
        if day is not None and day < found["date"]
    )
    return (
        about(found, "boundary.py")
        + "\n"
        + (earlier and earlier[1:] + "\n\n")
        + table(columns, rows)
    )


def quiet():
    found = loaded("quiet")
    by = {(r["audit"], r["version"]): r for r in found["rows"]}
    rows = []
    for name in dict.fromkeys(r["audit"] for r in found["rows"]):
        old, new = by[name, 0], by[name, 1]
        whole = [one["cpu"] + one["cpu apart"] for one in (old, new)]
        rows.append([name, whole[0], new["cpu"], new["cpu apart"], whole[1] / whole[0],
                     old["draws"], new["draws"]])  # fmt: skip
    columns = [
        "audit", "CPU s at 878604e", "CPU s now", "and where the mechanism runs", "ratio",
        "draws at 878604e", "draws now",
    ]  # fmt: skip
    return about(found, "quiet.py") + "\n" + table(columns, rows)


def beside():
    found = loaded("beside")
    rows = [[r["case"], *r["cpu"], r["cpu"][1] / r["cpu"][0]] for r in found["rows"]]
    start = (
        "" if "worker" not in found else
        f"A worker, from its start to its end with one draw: {found['worker']:.2g} CPU s; "
        f"importing numpy: {found['importing numpy']:.2g}.\n"
    )  # fmt: skip
    columns = ["case", "CPU s at 878604e", "CPU s now", "ratio"]
    parts = [about(found, "beside.py"), table(columns, rows), "", WHY, start]
    return "\n".join(parts).rstrip("\n") + "\n"


WHY = """All processes count. What is dearer, and why: mechanisms run in processes of their own (two
to ten forks, 3 ms each on this machine before anything is done, and what they copy). What teaches
is bet on, 3 ms a batch. Of a claim that is refuted 32 draws are made again in processes of their
own. Events are learnt in ways that 878604e did not have. EM-NAIVE states two claims and stated
one; loading modules takes a quarter of it.
"""


TARGETS = {
    "NumericalSVT": (0.93, 0.80), "SVT3": (0.92, 0.80), "SVT4": (0.95, 0.90), "SVT2": (0.95, 0.85),
    "NoisyMax3": (0.95, 0.88), "SVT6": (0.96, 0.90), "text of numbers": (None, 0.85),
}  # fmt: skip
"""Parts of the oracle to reach, at 1e6 and at 1e5 draws a side."""


def parts_of_oracle():
    """The bound to expect of the event that each seed chose, over that of the best event."""
    rows, told = [], []
    for place, name in enumerate(("weak-1e6", "weak-1e5")):
        found = loaded(name)
        told.append(about(found, "power.py weak"))
        seen = {row["name"]: row for row in found["rows"]}
        for subject in TABLES["weak"]():
            row, target = seen.get(subject.name), TARGETS.get(subject.name, (None, None))[place]
            if row is None:
                rows.append([subject.name, name[5:], MISSING, *["-"] * 3, target, None])
                continue
            each = [0.0 if value == "none" else max(value, 0.0) / row["oracle"]
                    for value in row["expected"]]  # fmt: skip
            rows.append([subject.name, name[5:], row["oracle"], row["part"], min(each), max(each),
                         target, row["cpu"]])  # fmt: skip
    columns = ["mechanism", "draws a side", "bound of the best event", "mean part", "least",
               "largest", "to reach", "CPU s"]  # fmt: skip
    return "\n".join([*told, table(columns, rows)])


def met():
    found = loaded("needles")
    seen = {row["class"]: row for row in found["rows"]}
    rows = []
    for kind, classes in needles.SETS.items():
        for name in classes:
            row = seen.get(name)
            count = f"{row['found']} of {row['of']}" if row else MISSING
            rows.append([kind, name, count, row and row["draws"], row and row["cpu_seconds"]])
    bars("needles", {n: row["found"] / row["of"] for n, row in seen.items()}, "part found")
    columns = ["set", "class", "refuted", "draws in all", "CPU s"]
    return about(found, "needles.py") + "\n" + table(columns, rows)


def costs():
    found = loaded("output_cost")
    seen = found["rows"] or {}
    rows = [
        [name, row["call_us"], row["packing_us"], row["beyond_us"], row["target_us"]]
        if (row := seen.get(name)) else [name, MISSING, *["-"] * 3]
        for name in output_cost.MECHANISMS
    ]  # fmt: skip
    bars("output_cost", {n: row["beyond_us"] for n, row in seen.items()}, "us beyond the call")
    columns = ["output", "us of the call", "us of packing", "us beyond the call", "target"]
    return about(found, "output_cost.py") + "\n" + table(columns, rows)


def sights():
    found = loaded("sight")
    seen = {row["name"]: row for row in found["rows"]}
    rows = []
    for name in sight.SIGHTS:
        row = seen.get(name)
        if row is None:
            rows.append([name, MISSING, *["-"] * 6])
            continue
        rows.append([
            name, row["trials"], row["oracle"], f"{row['some']} of {row['of']}", row["ratio"],
            row["worst"], row["cpu"], row["date"],
        ])  # fmt: skip
    bars("sight", {n: row["ratio"] for n, row in seen.items()}, "mean bound over the best event's")
    columns = [
        "output", "trials a side", "bound of the best event", "with a bound", "mean ratio",
        "worst ratio", "CPU s", "measured",
    ]  # fmt: skip
    return about(found, "sight.py") + "\n" + table(columns, rows)


def bars(name, values, label, log=False):
    """A bar for each row, in the order of the table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if not values:
        return
    plt.rcParams["svg.hashsalt"] = name
    fig, axes = plt.subplots(figsize=(7, 0.26 * len(values) + 1.1))
    axes.barh(list(values), [max(value, 0) for value in values.values()], color="#4477aa")
    axes.invert_yaxis()
    axes.set_xlabel(label)
    if log:
        axes.set_xscale("log")
    fig.tight_layout()
    fig.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(fig)


def causes():
    found, rows, every = loaded("cause"), [], []
    for kind, of in (("mutants", "the catalogue"), ("foreign", "real packages")):
        told = [row["told"] for row in found.get(kind, [])]
        every += found.get(kind, [])
        rows.append([of, len(told), *(told.count(word) for word in ("line", "neighbour", "no"))])
    near = sum(row["told"] != "no" for row in every)
    met = len({row["name"] for row in found.get("mutants", [])})
    slowest = max((row["seconds"] for row in every), default=0.0)
    about_it = (
        f"`cause.py mutants --faults 4` ({met} mechanisms of the catalogue, seed 29, stopped after "
        "90 minutes; a sample of the one-line faults that an audit refutes) and `cause.py foreign`"
        ", x86_64, 2026-11-27: the line or its neighbour is among the at most four told for "
        f"{near} of {len(every)}, in at most {slowest:.2g} CPU seconds. Not told:\n"
    )
    missed = [f"- {row['name']}: {row['fault']}" for row in every if row["told"] == "no"]
    columns = ["faults in", "refuted", "the line", "one beside it", "neither"]
    return "\n".join([about_it, *missed, "", table(columns, rows)])


def decided():
    rows = [
        [row["library"], row["client"], row["values"], row["verdict"],
         f"{float(row['epsilon']):.12g}" if "epsilon" in row else "-", row.get("why", "")]
        for row in loaded("clients")["rows"]
    ]  # fmt: skip
    columns = ["library", "client", "values", "at epsilon 1", "exact epsilon", "why not"]
    return "`clients.py`, all pairs of values; x86_64, 2026-11-27.\n\n" + table(columns, rows)


def main():
    RESULTS.mkdir(exist_ok=True)
    parts = [
        ("1. DP-Sniper's twenty, pair found by the default search", "search",
         powers("search", TABLES["sniper"](), "power.py sniper --search", published=True)),
        ("2. Bound over that of the best event, pair given", "given",
         powers("given", TABLES["given"](), "power.py given", published=False)),
        ("3. Draws until a claim is refuted, and of whole audits", "stopping", stopping()),
        ("4. Leaks on few databases, by class", "needles", met()),
        ("5. Cost by type of output", "output_cost", costs()),
        ("6. Sight: texts, lists, atoms and tails, pair given", "sight", sights()),
        ("7. The line at fault, told by `--explain`", "cause", causes()),
        ("8. Clients of local privacy, decided exactly", "clients", decided()),
        ("9. How often bets and counts refute a claim that is just true", "boundary", edges()),
        ("10. CPU of audits that find nothing", "quiet", quiet()),
        ("11. CPU of audits and commands, beside 878604e", "beside", beside()),
        ("12. Parts of the best event's bound, weak losses, pair given", "weak", parts_of_oracle()),
    ]  # fmt: skip
    text = HEAD
    for title, name, body in parts:
        text += f"\n## {title}\n\n{body}\n"
        if (RESULTS / f"{name}.svg").exists():
            text += f"\n![{title}](results/{name}.svg)\n"
    (HERE / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
