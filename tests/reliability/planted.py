"""Plants known bugs into a copy of the source, one at a time, and checks that a test fails because of each."""

import shutil
import subprocess
import time
from pathlib import Path


def catch_planted_bugs(root: Path) -> dict:
    """Applies each patch in `planted/` to a copy, and runs the tests that its first lines name:

        # package: poc-store
        # tests: power_cut

    A bug is caught if these tests pass without the patch and fail with it. A patch that no longer applies is an error.
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
    missed, caught = [], 0
    sound: set[tuple[str, ...]] = set()
    for patch in sorted((Path(__file__).parent / "planted").glob("*.patch")):
        head = dict(line[2:].split(": ", 1) for line in patch.read_text().splitlines() if line.startswith("# "))
        command = (head["package"], *head["tests"].split())
        if command not in sound:
            if not passes(copy, place, command):
                missed.append(f"{patch.stem}: its tests fail without it")
                continue
            sound.add(command)
        if not apply(copy, patch):
            missed.append(f"{patch.stem}: the patch does not apply")
            continue
        if passes(copy, place, command):
            missed.append(f"{patch.stem}: no test noticed it")
        else:
            caught += 1
        apply(copy, patch, "--reverse")
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


def apply(copy: Path, patch: Path, *options: str) -> bool:
    """Applies a patch; whether it did."""
    return subprocess.run(["patch", "-p1", "--silent", *options, "-i", str(patch)], cwd=copy, check=False).returncode == 0


def passes(copy: Path, place: Path, command: tuple[str, ...]) -> bool:
    """Whether the tests of a package pass. A copy that does not compile is an error."""
    package, *filters = command
    build = ["cargo", "test", "--release", "--target-dir", str(place / "target"), "-p", package, "--lib"]
    subprocess.run([*build, "--no-run", "--quiet"], cwd=copy, check=True)
    ran = subprocess.run([*build, "--quiet", "--", *filters], cwd=copy, capture_output=True, check=False)
    return ran.returncode == 0
