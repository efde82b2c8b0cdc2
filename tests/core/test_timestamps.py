"""Time as text: one form written, every ISO-8601 form read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.core.timestamps import from_text, in_written_form, later, to_text, utc_now, written

MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 3),  # noqa: DTZ001 hypothesis adds the zone
    max_value=datetime(9999, 12, 29),  # noqa: DTZ001
    timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)


@given(MOMENTS)
def test_the_written_form_has_27_characters_and_is_read_back(moment: datetime) -> None:
    text = to_text(moment)
    assert len(text) == 27
    assert text.endswith("Z")
    assert written(text) == from_text(text) == moment
    assert from_text(text).tzinfo is UTC  # type: ignore[union-attr]


@given(MOMENTS, MOMENTS)
def test_the_written_form_sorts_as_time(one: datetime, other: datetime) -> None:
    assert (to_text(one) < to_text(other)) == (one < other)


def test_a_fraction_of_nothing_is_written_too() -> None:
    assert to_text(datetime(2026, 12, 1, 2, 3, 4, tzinfo=UTC)) == "2026-12-01T02:03:04.000000Z"


@given(MOMENTS, st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]), st.sampled_from(["T", "t", " "]))
def test_every_isoformat_of_a_datetime_is_read(moment: datetime, timespec: str, separator: str) -> None:
    text = moment.isoformat(separator, timespec)
    exact = moment if timespec in ("auto", "microseconds") else datetime.fromisoformat(text)
    assert from_text(text) == exact
    naive = exact.replace(tzinfo=None).isoformat(separator)
    assert from_text(naive) == exact.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T10:00:00-05:00",
        "2026-12-01T15:00:00+00:00",
        "2026-12-01 15:00:00",
        "2026-12-01T15:00:00Z",
        "2026-12-01t15:00:00z",
        "2026-12-01T15:00:00.000000Z",
        "2026-12-01T15:00:00.000Z",
        "2026-12-01T15:00:00,0Z",
        "2026-12-01T15:00Z",
        "2026-12-01T15",
        "20261201T150000Z",
        "2026-W49-2T15:00:00Z",
        "2026-12-02T00:00:00+09",
        "2026-12-01T15:00:00.0000009Z",
    ],
)
def test_these_are_all_the_same_instant(text: str) -> None:
    assert from_text(text) == datetime(2026, 12, 1, 15, tzinfo=UTC)
    assert in_written_form(text.encode()) == "2026-12-01T15:00:00.000000Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "NULL",
        "1764550984",
        "1764550984.25",
        "1764550984000",
        "12345678",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-12-01T25:00:00Z",
        "2026-12-01x15:00:00",
        "2026-12-01T15:00:00Zulu",
        "2026-12-01T15:00:00+99:00",
        " 2026-12-01T15:00:00Z",
        "2026-12-01T15:00:00Z\n",
        "2026-12-01T15:00:00\0Z",
        "2026-12-01T15:00:0\udcff",
        "٢٠٢٦-١٢-٠١T١٥:٠٠:٠٠Z",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        "infinity",
    ],
)
def test_what_names_no_moment_is_unreadable(text: str) -> None:
    assert from_text(text) is None
    assert in_written_form(text.encode("utf-8", "surrogateescape")) is None


@given(st.text() | st.from_regex(r"[0-9T:\-Z .+Ww]{6,30}", fullmatch=True))
def test_no_text_at_all_is_an_error(text: str) -> None:
    moment = from_text(text)
    assert moment is None or moment.utcoffset() == timedelta(0)


@given(st.binary(max_size=30) | st.from_regex(rb"2026-12-01[T ]15:00:00[^\n]{0,9}", fullmatch=True))
def test_sql_and_python_read_stored_bytes_alike(stored: bytes) -> None:
    moment = from_text(stored.decode("utf-8", "surrogateescape"))
    assert in_written_form(stored) == (None if moment is None else to_text(moment))


def test_a_missing_text_names_no_moment() -> None:
    assert in_written_form(None) is None


@given(MOMENTS, st.floats(5, 3600))
def test_later_is_exact_to_the_microsecond(moment: datetime, seconds: float) -> None:
    assert written(later(to_text(moment), seconds)) == moment + timedelta(seconds=seconds)


def test_now_is_aware_and_in_utc() -> None:
    assert utc_now().tzinfo is UTC
