"""Servers that may forget what they have granted, or number it out of order: diagnostics say so before it matters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

import lockwatch
from lockwatch.diagnostics import Check, Status, examine
from tests.contract.sites import do_without
from tests.faults.servers import OwnMariadb, OwnPostgres, OwnServer, running


class HastyPostgres(OwnPostgres):
    """One that answers before it has written anything."""


class HastyMariadb(OwnMariadb):
    """One that writes once a second, and gives out numbers before they are used."""

    def _command(self) -> list[str]:
        return [*super()._command(), "--innodb-flush-log-at-trx-commit=0", "--innodb-autoinc-lock-mode=2"]


SETTING: Final = {"postgres": "fsync", "mysql": "innodb_flush_log_at_trx_commit"}


@pytest.fixture(scope="module", params=[HastyPostgres, HastyMariadb], ids=["postgres", "mysql"])
def hasty(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    if reason := request.param.why_missing():
        do_without(reason)
    with running(request.param) as server:
        lockwatch.upgrade(server.site.url)
        yield server


def _checks(server: OwnServer) -> dict[str, Check]:
    return {check.name: check for check in examine(server.site.url)}


def test_a_server_that_a_crash_makes_forget_its_last_grants_is_a_warning(hasty: OwnServer) -> None:
    check = _checks(hasty)["Durability"]
    assert check.status is Status.WARNING
    assert SETTING[hasty.kind] in (check.hint or "")


@pytest.mark.parametrize("hasty", [HastyMariadb], indirect=True)
def test_a_server_whose_numbers_come_out_of_order_grants_nothing_and_diagnostics_say_so(hasty: OwnServer) -> None:
    with lockwatch.connect(hasty.site.url) as service:
        with pytest.raises(lockwatch.DatabaseError, match="innodb_autoinc_lock_mode is 2"):
            service.acquire("plan", "p1", "a")
        assert service.snapshot().locks == ()
    check = _checks(hasty)["Fencing"]
    assert check.status is Status.WARNING
    assert "innodb_autoinc_lock_mode is 2" in check.message
