"""The export table of two pure-Python packages against really importing each of their modules."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/oracle.py"


def test_says_of_real_packages_what_importing_them_tells() -> None:
    command = [sys.executable, str(SCRIPT), "packaging", "hypothesis"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" imported") == 2
