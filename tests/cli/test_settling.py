from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import lockwatch
from tests.cli.running import Cli
from tests.support import Clock, age, dump, execute, insert_row, row, rows

FUTURE = "2999-01-01T00:00:00.000000Z"


def test_acquire_says_what_was_granted_and_until_when(cli: Cli, url: str) -> None:
    answer = cli("acquire", "plan/p1", "--owner", "a", "--ttl", "60")
    with lockwatch.connect(url) as service:
        lock = service.get("plan", "p1")
    assert lock is not None
    assert lock.expires_at is not None
    until = f"{lock.expires_at:%Y-%m-%d %H:%M:%SZ}"
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"acquired plan/p1 for a until {until} (fence {lock.id})\n"
    assert lock.acquired_at is not None
    assert (lock.expires_at - lock.acquired_at).total_seconds() == 60


def test_an_id_may_hold_slashes(cli: Cli, url: str) -> None:
    assert cli("acquire", "plan/a/b/c", "--owner", "a").code == 0
    assert [cells[2:4] for cells in rows(url)] == [(b"plan", b"a/b/c")]


def test_acquire_in_json_has_the_fence_and_moments_in_the_written_form(cli: Cli) -> None:
    answer = json.loads(cli("acquire", "plan/p1", "--owner", "a", "--ttl", "60", "--json").out)
    assert {name: answer[name] for name in ("resource", "resource_type", "resource_id", "owner_id", "fence")} == {
        "resource": "plan/p1",
        "resource_type": "plan",
        "resource_id": "p1",
        "owner_id": "a",
        "fence": 1,
    }
    assert (answer["state"], answer["ttl_seconds"]) == ("held", 60.0)
    assert len(answer["acquired_at"]) == len(answer["expires_at"]) == 27
    assert answer["expires_text"] == answer["expires_at"]
    assert 0 < answer["remaining_seconds"] <= 60


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_conflict_says_who_holds_it_since_when_and_ends_with_3(cli: Cli, url: str, as_json: tuple[str, ...]) -> None:
    cli("acquire", "plan/p1", "--owner", "a")
    before = rows(url)
    answer = cli("acquire", "plan/p1", "--owner", "b", *as_json)
    since = str(before[0][4], "ascii")[:19].replace("T", " ")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith(f"lockwatch: plan/p1 is held by a since {since}Z, for another ")
    assert answer.err.endswith("(fence 1)\n")
    assert rows(url) == before


def test_acquire_by_the_holder_extends_and_keeps_the_fence(cli: Cli, url: str) -> None:
    cli("acquire", "plan/p1", "--owner", "a", "--ttl", "60")
    answer = cli("acquire", "plan/p1", "--owner", "a", "--ttl", "600", "--json")
    assert json.loads(answer.out)["fence"] == 1
    assert len(rows(url)) == 1


def test_renew_extends_an_owners_lease(cli: Cli, url: str) -> None:
    cli("acquire", "plan/p1", "--owner", "a", "--ttl", "5")
    before = rows(url)[0][5]
    answer = cli("renew", "plan/p1", "--owner", "a", "--ttl", "600")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("renewed plan/p1 for a until ")
    assert rows(url)[0][5] > before


def test_renew_of_an_expired_lease_ends_with_4_and_changes_nothing(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a")
    before = rows(url)
    answer = cli("renew", "plan/p1", "--owner", "a")
    assert (answer.code, answer.out) == (4, "")
    assert "expired" in answer.err
    assert rows(url) == before


def test_release_frees_an_owners_lease(cli: Cli, url: str) -> None:
    cli("acquire", "plan/p1", "--owner", "a")
    answer = cli("release", "plan/p1", "--owner", "a")
    assert (answer.code, answer.out, answer.err) == (0, "released plan/p1 of a\n", "")
    assert rows(url) == []


def test_release_in_json(cli: Cli) -> None:
    cli("acquire", "plan/p1", "--owner", "a")
    answer = json.loads(cli("release", "plan/p1", "--owner", "a", "--json").out)
    assert answer == {"released": True, "resource": "plan/p1", "owner_id": "a", "fence": None}


def test_release_of_what_nobody_holds_ends_with_4_and_says_so(cli: Cli) -> None:
    answer = cli("release", "plan/p1", "--owner", "a")
    assert (answer.code, answer.out) == (4, "")
    assert answer.err == "lockwatch: a has nothing to release: nobody holds plan/p1\n"


def test_release_of_anothers_lock_ends_with_4_and_names_the_holder(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "b", expires_at=FUTURE)
    before = rows(url)
    answer = cli("release", "plan/p1", "--owner", "a")
    assert answer.code == 4
    assert answer.err.startswith("lockwatch: a has nothing to release: plan/p1 is held by b since ")
    assert rows(url) == before


def test_release_of_an_expired_lease_ends_with_4_and_says_how_long_ago(cli: Cli, url: str) -> None:
    gone = Clock(datetime.now(UTC)).text(-130)
    insert_row(url, "plan/p1", "a", expires_at=gone)
    answer = cli("release", "plan/p1", "--owner", "a")
    assert answer.code == 4
    assert answer.err == "lockwatch: the lock of a on plan/p1 expired 2m ago; it was cleared away\n"
    assert rows(url) == []


def test_release_of_what_another_left_behind_ends_with_4_and_says_so(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "b")
    before = rows(url)
    answer = cli("release", "plan/p1", "--owner", "a")
    assert answer.code == 4
    assert answer.err.startswith("lockwatch: a has nothing to release: plan/p1 was left behind by b since ")
    assert rows(url) == before


def test_release_of_an_unreadable_lease_says_how_to_remove_it(cli: Cli, url: str) -> None:
    number = insert_row(url, "plan/p1", "a", expires_at="soon")
    answer = cli("release", "plan/p1", "--owner", "a")
    assert answer.code == 4
    assert f"`lockwatch release plan/p1 --fence {number}`" in answer.err
    assert cli("release", "plan/p1", "--fence", str(number)).code == 0
    assert rows(url) == []


@pytest.mark.parametrize("verb", ["release", "renew"])
def test_a_lease_is_settled_by_its_fence(cli: Cli, url: str, verb: str) -> None:
    cli("acquire", "plan/p1", "--owner", "a", "--ttl", "5")
    before = rows(url)
    answer = cli(verb, "plan/p1", "--fence", "1", "--owner", "a")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{verb}{'d' if verb == 'release' else 'ed'} plan/p1 ")
    assert answer.out.endswith("(fence 1)\n")
    assert rows(url) != before


@pytest.mark.parametrize("verb", ["release", "renew"])
@pytest.mark.parametrize(
    "which",
    [("--fence", "1"), ("--fence", "3"), ("--fence", "-2"), ("--fence", "2", "--owner", "a")],
    ids=["outdated", "not given yet", "negative", "of another owner"],
)
def test_a_lease_that_is_not_that_one_stays_and_what_is_true_now_is_said(
    cli: Cli, url: str, verb: str, which: tuple[str, ...]
) -> None:
    insert_row(url, "plan/p1", "b", expires_at=FUTURE, lock_id=2)
    before = dump(url)
    answer = cli(verb, "plan/p1", *which)
    assert (answer.code, answer.out) == (4, "")
    assert "plan/p1 is held by b since 2001-01-01 00:00:00Z, for another " in answer.err
    assert "(fence 2)" in answer.err
    assert dump(url) == before


@pytest.mark.parametrize("verb", ["release", "renew"])
def test_a_fence_of_another_resource_settles_nothing(cli: Cli, url: str, verb: str) -> None:
    insert_row(url, "plan/p1", "a", expires_at=FUTURE, lock_id=1)
    insert_row(url, "plan/p2", "b", expires_at=FUTURE, lock_id=2)
    before = dump(url)
    assert cli(verb, "plan/p1", "--fence", "2").code == 4
    assert dump(url) == before


@pytest.mark.parametrize("verb", ["release", "renew"])
def test_a_fence_on_a_resource_that_nobody_holds_ends_with_4(cli: Cli, verb: str) -> None:
    answer = cli(verb, "plan/p1", "--fence", "7")
    assert (answer.code, answer.out) == (4, "")
    assert answer.err == "lockwatch: there is no lease with fence 7 on plan/p1; nobody holds plan/p1\n"


def test_a_stale_lease_is_released_by_its_fence_but_not_renewed(cli: Cli, url: str) -> None:
    number = insert_row(url, "plan/p1", "a")
    before = dump(url)
    refused = cli("renew", "plan/p1", "--fence", str(number))
    assert (refused.code, refused.out) == (4, "")
    assert "there is nothing to renew" in refused.err
    assert dump(url) == before
    assert cli("release", "plan/p1", "--fence", str(number)).code == 0
    assert rows(url) == []


def test_a_lease_that_changes_between_the_look_and_the_release_stays(
    cli: Cli, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = insert_row(url, "plan/p1", "a", expires_at="2998-01-01T00:00:00.000000Z")
    release_exact = lockwatch.LockService.release_exact

    def renewed_first(service: lockwatch.LockService, lock: lockwatch.Lock) -> lockwatch.Outcome:
        age(url, "plan/p1", FUTURE)
        return release_exact(service, lock)

    monkeypatch.setattr(lockwatch.LockService, "release_exact", renewed_first)
    answer = cli("release", "plan/p1", "--fence", str(number))
    assert (answer.code, answer.out) == (4, "")
    assert "was renewed since, its holder is alive" in answer.err
    assert row(url, "plan/p1") is not None


@pytest.mark.parametrize("verb", ["release", "renew"])
def test_neither_owner_nor_fence_is_a_usage_error(cli: Cli, verb: str) -> None:
    answer = cli(verb, "plan/p1")
    assert (answer.code, answer.out) == (2, "")
    assert "--owner / --fence: one of them must be given" in answer.err


NAMES = ["odd\x1bname", "two\nlines", "\u202emirror", "a[/]b", " blank ", "x" * 300, "😀", "z\u200bw"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_breaks_the_rules_is_settled_as_it_is_shown(cli: Cli, url: str, name: str) -> None:
    number = insert_row(url, f"plan/{name}", name, expires_at=FUTURE)
    shown = next(line for line in cli("show", f"plan/{name}").out.splitlines() if line.startswith("resource"))
    resource = shown.removeprefix("resource").removeprefix("  ")
    assert cli("release", resource, "--fence", str(number + 1)).code == 4
    assert cli("release", resource, "--fence", str(number), "--owner", name).code == 0
    assert rows(url) == []


def test_bytes_that_are_no_text_are_settled_as_they_are_shown(cli: Cli, url: str) -> None:
    number = insert_row(url, "plan/x", b"\xff", expires_at=FUTURE)
    execute(url, "UPDATE locks SET resource_id = CAST(x'fffe' AS TEXT)")
    answer = cli("release", "plan/��", "--fence", str(number), "--owner", "�")
    assert (answer.code, answer.out) == (0, f"released plan/�� of � (fence {number})\n")
    assert rows(url) == []


def test_an_unknown_type_in_the_table_is_settled_by_its_fence(cli: Cli, url: str) -> None:
    number = insert_row(url, "pipeline/x", "a", expires_at=FUTURE)
    assert cli("show", "pipeline/x").code == 0
    assert cli("release", "pipeline/x", "--fence", str(number)).code == 0


def test_two_locks_that_are_shown_alike_are_told_apart_by_their_fences(cli: Cli, url: str) -> None:
    first = insert_row(url, "plan/a\u200bb", "a", expires_at=FUTURE)
    second = insert_row(url, "plan/a\u200cb", "b", expires_at=FUTURE)
    answer = cli("show", "plan/a·b")
    assert (answer.code, answer.out) == (1, "")
    assert f"with the fences {first}, {second}" in answer.err
    assert cli("release", "plan/a·b", "--fence", str(second)).code == 0
    assert [cells[0] for cells in rows(url)] == [first]
