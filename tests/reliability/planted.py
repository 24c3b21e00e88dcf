"""Plants known bugs into a copy of the source, and checks that a test fails because of each."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from binaries import build

# A planted bug shows only while this variable has its name, so that the copy is compiled once.
VARIABLE = "PLANTED"

# What breaks a law need not be reduced, nor remembered.
QUICKLY = {"PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true"}

# With a bug, a test may never end.
LIMIT = 600.0


def catch_planted_bugs(root: Path) -> dict:
    """Applies all patches in `planted/` to a copy, and runs the tests that the first lines of each name:

        # package: poc-store
        # tests: power_cut

    A bug is caught if these tests pass without it and fail with it. A patch that no longer applies is an error.
    """
    started = time.monotonic()
    place = root / "target" / "reliability" / "planted"
    copy = place / "source"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    subprocess.run(
        ["tar", "--null", "--files-from=-", "-cf", str(place / "source.tar")], cwd=root, input=files, check=True
    )
    subprocess.run(["tar", "-xf", str(place / "source.tar"), "-C", str(copy)], check=True)
    missed, bugs = [], []
    for patch in sorted((Path(__file__).parent / "planted").glob("*.patch")):
        head = dict(line[2:].split(": ", 1) for line in patch.read_text().splitlines() if line.startswith("# "))
        if apply(copy, patch):
            bugs.append((patch.stem, head["package"], head["tests"].split()))
        else:
            missed.append(f"{patch.stem}: the patch does not apply")
    caught = 0
    for package in sorted({package for _, package, _ in bugs}):
        # Cargo would take what it compiled from the copy for the workspace's own, so the copy has a folder for itself.
        binaries = build(copy, ["--target-dir", str(place / "target"), "-p", package, "--lib"])
        for name, _, filters in (bug for bug in bugs if bug[1] == package):
            if not passes(binaries, filters, ""):
                missed.append(f"{name}: its tests fail without it")
            elif passes(binaries, filters, name):
                missed.append(f"{name}: no test noticed it")
            else:
                caught += 1
    return {
        "promise": "R3",
        "text": "The tests catch planted bugs",
        "environment": {},
        "tests": caught,
        "failed": missed,
        "unmatched": [],
        "seconds": round(time.monotonic() - started, 1),
        "holds": not missed and caught > 0,
    }


def check_patches(root: Path) -> dict:
    """Whether each patch still applies to the source, which takes no compilation."""
    started = time.monotonic()
    patches = sorted((Path(__file__).parent / "planted").glob("*.patch"))
    failed = [f"{patch.stem}: the patch does not apply" for patch in patches if not apply(root, patch, "--dry-run")]
    return {
        "promise": "R3",
        "text": "The planted bugs fit the source",
        "environment": {},
        "tests": len(patches) - len(failed),
        "failed": failed,
        "unmatched": [],
        "seconds": round(time.monotonic() - started, 1),
        "holds": not failed,
    }


def apply(folder: Path, patch: Path, *options: str) -> bool:
    """Applies a patch to the source in a folder; whether it could."""
    command = ["patch", "-p1", "--silent", "--force", *options, "-i", str(patch)]
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode == 0


def passes(binaries: list, filters: list[str], bug: str) -> bool:
    """Whether the tests pass while a bug shows."""
    outcomes: dict[str, str] = {}
    for binary in binaries:
        names = binary.matching(filters)
        if names:
            found, output = binary.run(names, os.environ | QUICKLY | {VARIABLE: bug}, limit=LIMIT)
            outcomes |= found
            if not bug and "FAILED" in found.values():
                print(output[-6000:], file=sys.stderr)
    return bool(outcomes) and "FAILED" not in outcomes.values()
