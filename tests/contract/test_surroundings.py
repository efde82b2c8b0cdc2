"""What a URL, a server's defaults or another program set around the table changes nothing about the locks in it."""

from __future__ import annotations

from urllib.parse import quote

import pytest

import lockwatch
from lockwatch import LockService
from tests.contract.sites import Site


def _with(site: Site, parameters: str) -> str:
    if not site.is_server:
        pytest.skip("a file's URL has no parameters")
    return f"{site.url}?{parameters}"


@pytest.mark.parametrize(
    "settings",
    [
        "completion_type = 'CHAIN'",  # after a COMMIT, the next grant would be in a transaction that nobody ends
        "completion_type = 'RELEASE'",
        "autocommit = 0",
        "unique_checks = 0, foreign_key_checks = 0",
        "sql_select_limit = 1",
        "max_join_size = 1",
        "sql_safe_updates = 1",
        "group_concat_max_len = 4",
        "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,ORACLE'",
    ],
)
def test_no_setting_of_a_mariadb_server_hides_a_grant_or_a_row(site: Site, other: LockService, settings: str) -> None:
    if site.kind != "mysql":
        pytest.skip("these are MariaDB's")
    with lockwatch.connect(_with(site, f"init_command={quote(f'SET {settings}')}")) as service:
        for name in ("p1", "p2", "back\\slash'"):
            service.acquire("plan", name, "a")
        assert len(service.snapshot().locks) == 3
        assert service.release_all_for_owner("a") == 3
        lock = service.acquire("plan", "p1", "a")
        with pytest.raises(lockwatch.LockConflictError):
            other.acquire("plan", "p1", "b")
        assert other.get("plan", "p1") == lock


ENCODINGS = {
    "mysql": ("charset=latin1", "charset=utf8", "charset=utf8mb4&use_unicode=0"),
    "postgres": ("client_encoding=latin1", "client_encoding=SQL_ASCII", "options=-c%20client_encoding=latin1"),
}


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_name_is_the_same_one_whatever_character_set_the_url_asks_for(
    site: Site, other: LockService, number: int
) -> None:
    with lockwatch.connect(_with(site, ENCODINGS.get(site.kind, ("",) * 3)[number])) as service:
        for name in ("j\u00f3b", "j\u00c3\u00b3b", "\N{GRINNING FACE}"):
            lock = service.acquire("plan", name, f"{name}-owner")
            assert other.get("plan", name) == lock == service.get("plan", name)
        assert len(other.snapshot().locks) == 3


def test_a_renewal_tells_what_it_wrote_though_another_programs_trigger_inserts_a_row(
    site: Site, service: LockService
) -> None:
    if site.kind != "mysql":
        pytest.skip("elsewhere an UPDATE gives back what it wrote")
    site.execute("CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, expires_at VARCHAR(30))")
    site.execute("CREATE TRIGGER noted AFTER UPDATE ON locks FOR EACH ROW INSERT INTO audit VALUES (0, new.expires_at)")
    try:
        service.acquire("plan", "p1", "a", 60)
        assert service.renew("plan", "p1", "a", 600) == service.get("plan", "p1")
    finally:
        site.execute("DROP TRIGGER noted")
        site.execute("DROP TABLE audit")
