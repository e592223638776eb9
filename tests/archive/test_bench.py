"""The benchmark of the archive works; how fast anything is, is not tested."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_benchmark_fills_and_searches(archive_url: str) -> None:
    program = [sys.executable, "-m", "benching.archive", archive_url]
    done = subprocess.run(
        [*program, "--letters", "1500", "--more", "500"],
        env=dict(os.environ) | {"PYTHONPATH": "ops"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("took in 1500 after 0: ")
    assert lines[1].startswith("took in 500 after 1500: ")
    searched = [line for line in lines[2:] if line.startswith(("list ", "count by "))]
    assert len(searched) == 33
    assert all(len(line.split()) >= 3 for line in searched)
