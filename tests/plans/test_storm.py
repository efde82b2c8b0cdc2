"""The storm of `python -m tests.storm`, in small."""

from __future__ import annotations

from pathlib import Path

from tests.storm import Storm


def test_no_plan_runs_twice_at_once_and_all_finish_though_workers_are_killed_and_paused(tmp_path: Path) -> None:
    storm = Storm(folder=tmp_path, workers=3, plans=12, seconds=2)
    storm.run()
    summary = storm.check()
    assert summary["killed"]
    assert summary["paused"]
    assert summary["abandoned"]
