"""Builds test programs with cargo and runs selected tests of them."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

TEST = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class TestBinary:
    """A test program, the folder it runs in, and the names of its tests."""

    path: Path
    package: Path
    tests: tuple[str, ...]

    def matching(self, filters: list[str]) -> list[str]:
        """The tests whose names contain one of these parts."""
        return [name for name in self.tests if any(part in name for part in filters)]

    def run(
        self, names: list[str], environment: dict[str, str], ignored: bool = False, limit: float | None = None
    ) -> tuple[dict[str, str], str]:
        """Runs tests, at most for so many seconds. Returns the outcome of each, and what was printed."""
        options = ["--show-output"] + (["--include-ignored"] if ignored else [])
        try:
            ran = subprocess.run(
                [str(self.path), "--exact", *names, *options],
                cwd=self.package,
                env=environment | {"CARGO_MANIFEST_DIR": str(self.package)},
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return {name: "FAILED" for name in names}, "the tests did not end in time"
        outcomes = dict(TEST.findall(ran.stdout))
        if ran.returncode != 0 and "FAILED" not in outcomes.values():
            # It ended before it had printed all outcomes.
            outcomes |= {name: "FAILED" for name in names if name not in outcomes}
        return outcomes, ran.stdout + ran.stderr


def build(root: Path, options: list[str]) -> list[TestBinary]:
    """Builds the tests that cargo's options select, and the programs that they start."""
    common = ["--release", "--message-format=json-render-diagnostics"]
    if "--workspace" in options:
        subprocess.run(["cargo", "build", "--release"], cwd=root, check=True)
    built = subprocess.run(
        ["cargo", "test", "--no-run", *common, *options], cwd=root, stdout=subprocess.PIPE, text=True, check=True
    )
    found = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if not message.get("executable") or not message.get("profile", {}).get("test"):
            continue
        path, package = Path(message["executable"]), Path(message["manifest_path"]).parent
        listed = subprocess.run(
            [str(path), "--list"], cwd=package, env=os.environ, capture_output=True, text=True, check=True
        )
        tests = [line[: -len(": test")] for line in listed.stdout.splitlines() if line.endswith(": test")]
        found.append(TestBinary(path, package, tuple(tests)))
    return found
