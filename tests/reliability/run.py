"""Runs the tests that hold the promises of RELIABILITY.md and prints a table: `run.py quick|full [R1 R2 …]`.

`just reliability` calls it. The table is also written to target/reliability/FORM.json. The exit status is 0 if all
tests passed and every planted bug was caught.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from planted import catch_planted_bugs
from promises import PROMISES, Promise

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed")
TEST = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. (\w+)", re.MULTILINE)


def run(promise: Promise, form: str) -> dict:
    """Runs the tests of a promise. Fails for a name that matches no test, because a renamed test would be missed."""
    environment = promise.full if form == "full" else promise.quick
    filters = promise.tests + (promise.ignored if form == "full" else [])
    options = ["--include-ignored"] if form == "full" and promise.ignored else []
    started = time.monotonic()
    ran = subprocess.run(
        ["cargo", "test", "--release", "--workspace", "--no-fail-fast", "--", *filters, *options],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    names = dict(TEST.findall(ran.stdout))
    counts = [tuple(map(int, pair)) for pair in SUMMARY.findall(ran.stdout)]
    passed, failed = (sum(column) for column in zip(*counts)) if counts else (0, 0)
    unmatched = [part for part in filters if not any(part in name for name in names)]
    row = {
        "promise": promise.name,
        "text": promise.text,
        "environment": environment,
        "tests": passed,
        "failed": sorted(name for name, outcome in names.items() if outcome == "FAILED"),
        "unmatched": unmatched,
        "seconds": round(time.monotonic() - started, 1),
        "holds": ran.returncode == 0 and failed == 0 and passed > 0 and not unmatched,
    }
    if not row["holds"]:
        print(ran.stdout[-4000:], ran.stderr[-4000:], file=sys.stderr)
    return row


def show(row: dict) -> str:
    """One line of the table."""
    setting = " ".join(f"{name}={value}" for name, value in row["environment"].items())
    state = "holds" if row["holds"] else "BROKEN"
    line = f"{row['promise']:<4} {state:<7} {row['tests']:>4} tests {row['seconds']:>7.1f} s  {row['text']}  {setting}"
    for name in row["failed"]:
        line += f"\n     failed: {name}"
    for name in row["unmatched"]:
        line += f"\n     no test matches: {name}"
    return line.rstrip()


def main() -> int:
    """Runs the promises that the arguments select."""
    form, *wanted = sys.argv[1:] or ["quick"]
    if form not in ("quick", "full"):
        print("the form is `quick` or `full`", file=sys.stderr)
        return 2
    known = [promise.name for promise in PROMISES] + ["R3"]
    for name in wanted:
        if name not in known:
            print(f"there is no promise `{name}`; there are {', '.join(known)}", file=sys.stderr)
            return 2
    rows = []
    for promise in PROMISES:
        if not wanted or promise.name in wanted:
            rows.append(run(promise, form))
            print(show(rows[-1]), flush=True)
    # Each planted bug is compiled, which takes minutes.
    if "R3" in wanted or (form == "full" and not wanted):
        rows.append(catch_planted_bugs(ROOT))
        print(show(rows[-1]), flush=True)
    out = ROOT / "target" / "reliability"
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{form}.json").write_text(json.dumps(rows, indent=2))
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
