"""The README is true: its program runs as written, its commands and keys exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PRINTED = (
    "read under fence 1\ncompute under fence 1\nwrite under fence 1\n",
    "2 prices written under fence 1\n",
    "thinking under fence 3\nstrategize: complete\n",
)


@pytest.mark.parametrize(("program", "printed"), list(zip(PROGRAMS, PRINTED, strict=True)))
def test_each_program_in_the_readme_runs_as_written(program: str, printed: str, tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, printed, "")


def test_the_command_that_the_readme_wraps_runs_as_written(tmp_path: Path) -> None:
    (commands,) = (
        block for block in re.findall(r"^```sh\n(.*?)^```$", README, re.DOTALL | re.MULTILINE) if "run plan" in block
    )
    lockwatch = tmp_path / "lockwatch"
    lockwatch.write_text(f'#!/bin/sh\nexec {sys.executable} -m lockwatch "$@"\n', encoding="utf-8")
    lockwatch.chmod(0o755)
    run = subprocess.run(
        ["sh", "-euc", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("\ndeploying under fence 1\n")


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`lockwatch ([a-z]+(?: (?:upgrade|current))?)", README))))
def test_each_command_in_the_readme_exists(command: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "lockwatch", *command.split(), "--help"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_each_dependency_has_its_reason_in_contributing() -> None:
    root = Path(__file__).parents[1]
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[(.*?)^\]", project, re.DOTALL | re.MULTILINE)
    assert listed is not None
    reasons = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in re.findall(r'"([a-z]+)', listed[1]):
        assert f"| {name} |" in reasons
