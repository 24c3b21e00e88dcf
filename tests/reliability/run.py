"""Runs the tests that hold the promises of RELIABILITY.md and prints a table: `run.py quick|full [R1 R2 …]`.

`just reliability` calls it. Options: `--seed=N` for the random tests (1 if missing), `--count=N` for how often the
selected promises are tried, instead of the number of the form. The table is also written to
target/reliability/FORM.json, and all that a failed test printed to a file beside it. The exit status is 0 if all tests
passed and every planted bug was caught.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from binaries import TestBinary, build
from planted import catch_planted_bugs, check_patches
from promises import PROMISES, Promise

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "target" / "reliability"
# A figure that a test prints.
FIGURE = re.compile(r"^figure: (.*)$", re.MULTILINE)


def run(promise: Promise, binaries: list[TestBinary], environment: dict[str, str], full: bool) -> dict:
    """Runs the tests of a promise. Fails for a name that matches no test, because a renamed test would be missed."""
    filters = promise.tests + (promise.ignored if full else [])
    started = time.monotonic()
    passed, failed, matched, figures = 0, [], set(), []
    for binary in binaries:
        own = binary.matching(filters)
        if not own:
            continue
        matched.update(part for part in filters if any(part in name for name in own))
        outcomes, output = binary.run(own, os.environ | environment, ignored=full and bool(promise.ignored))
        passed += sum(outcome == "ok" for outcome in outcomes.values())
        figures += FIGURE.findall(output)
        wrong = sorted(name for name, outcome in outcomes.items() if outcome == "FAILED")
        failed += wrong
        if wrong or not outcomes:
            failed += [] if outcomes else [f"{binary.path.name} gave no result"]
            whole = REPORTS / f"{promise.name}-{binary.path.name}.txt"
            whole.write_text(output)
            print(f"{output[-6000:]}\nall of the output: {whole}", file=sys.stderr)
    unmatched = [part for part in filters if part not in matched]
    return {
        "promise": promise.name,
        "text": promise.text,
        "environment": environment,
        "tests": passed,
        "failed": failed,
        "unmatched": unmatched,
        "figures": figures,
        "seconds": round(time.monotonic() - started, 1),
        "holds": passed > 0 and not failed and not unmatched,
    }


def environment_of(promise: Promise, form: str, seed: int, count: int | None) -> dict[str, str]:
    """How often, and with which seed, the tests of a promise try."""
    counts = promise.full if form == "full" else promise.quick
    if count is not None:
        counts = {name: str(count) for name in promise.full}
    return {"PROPTEST_RNG_SEED": str(seed), "POC_MEMORY_SEED": str(seed)} | counts


def show(row: dict) -> str:
    """One line of the table."""
    setting = " ".join(f"{name}={value}" for name, value in row["environment"].items())
    state = "holds" if row["holds"] else "BROKEN"
    line = f"{row['promise']:<4} {state:<7} {row['tests']:>4} tests {row['seconds']:>7.1f} s  {row['text']}  {setting}"
    for figure in row.get("figures", []):
        line += f"\n     {figure}"
    for name in row["failed"]:
        line += f"\n     failed: {name}"
    for name in row["unmatched"]:
        line += f"\n     no test matches: {name}"
    return line.rstrip()


def main() -> int:
    """Runs the promises that the arguments select."""
    options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
    form, *wanted = [word for word in sys.argv[1:] if not word.startswith("--")] or ["quick"]
    if form not in ("quick", "full"):
        print("the form is `quick` or `full`", file=sys.stderr)
        return 2
    known = [promise.name for promise in PROMISES] + ["R3"]
    for name in wanted:
        if name not in known:
            print(f"there is no promise `{name}`; there are {', '.join(known)}", file=sys.stderr)
            return 2
    unknown = [name for name in options if name not in ("seed", "count")]
    if unknown or not all(value.isdecimal() for value in options.values()):
        print("the options are `--seed=N` and `--count=N`", file=sys.stderr)
        return 2
    seed, count = int(options.get("seed", "1")), options.get("count")
    started = time.monotonic()
    REPORTS.mkdir(parents=True, exist_ok=True)
    rows = []
    selected = [promise for promise in PROMISES if not wanted or promise.name in wanted]
    binaries = build(ROOT, ["--workspace", "--lib", "--bins", "--tests"]) if selected else []
    built = time.monotonic() - started
    for promise in selected:
        environment = environment_of(promise, form, seed, int(count) if count else None)
        rows.append(run(promise, binaries, environment, form == "full"))
        print(show(rows[-1]), flush=True)
    print(f"built in {built:.0f} s, ran in {time.monotonic() - started - built:.0f} s", flush=True)
    # A copy of the source is compiled, which takes minutes.
    if "R3" in wanted or (form == "full" and not wanted):
        rows.append(catch_planted_bugs(ROOT))
        print(show(rows[-1]), flush=True)
    elif not wanted:
        rows.append(check_patches(ROOT))
        print(show(rows[-1]), flush=True)
    (REPORTS / f"{form}.json").write_text(json.dumps(rows, indent=2))
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
