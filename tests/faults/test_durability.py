"""A server that may forget what it has granted: diagnostics say so before it does."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import lockwatch
from lockwatch.diagnostics import Status, examine
from tests.contract.sites import do_without
from tests.faults.servers import OwnMariadb, OwnPostgres, OwnServer, running


class HastyPostgres(OwnPostgres):
    """One that answers before it has written anything."""

    setting: ClassVar = "fsync"


class HastyMariadb(OwnMariadb):
    """One that writes once a second."""

    setting: ClassVar = "innodb_flush_log_at_trx_commit"

    def _command(self) -> list[str]:
        return [*super()._command(), "--innodb-flush-log-at-trx-commit=0"]


@pytest.mark.parametrize("made", [HastyPostgres, HastyMariadb])
def test_a_server_that_a_crash_makes_forget_its_last_grants_is_a_warning(made: type[Any]) -> None:
    if reason := made.why_missing():
        do_without(reason)
    with running(made) as server:
        assert isinstance(server, OwnServer)
        lockwatch.upgrade(server.site.url)
        check = {check.name: check for check in examine(server.site.url)}["Durability"]
        assert check.status is Status.WARNING
        assert made.setting in (check.hint or "")
