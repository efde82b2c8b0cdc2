from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from lockwatch.demo.ending import SIGNALS, Ending


@pytest.fixture(autouse=True)
def handlers() -> Iterator[list[object]]:
    """Handlers to be found again, whatever this process was started with."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    mine = [signal.default_int_handler for number in SIGNALS]
    for number, handler in zip(SIGNALS, mine, strict=True):
        signal.signal(number, handler)
    yield list(mine)
    for number, old in before.items():
        signal.signal(number, old)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def exit_code_of(played: Callable[[Ending], None]) -> object:
    with pytest.raises(SystemExit) as ended:
        play(played)
    return ended.value.code


def play(played: Callable[[Ending], None]) -> None:
    with Ending() as ending:
        played(ending)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_what_it_may_end(number: signal.Signals) -> None:
    reached: list[str] = []

    def played(ending: Ending) -> None:
        with ending.welcome():
            send(number)
            reached.append("behind the signal")

    assert exit_code_of(played) == 128 + number
    assert not reached


def test_a_signal_that_comes_too_early_waits_until_it_is_welcome() -> None:
    reached: list[str] = []

    def played(ending: Ending) -> None:
        send(signal.SIGTERM)
        reached.append("made the folder")
        with ending.welcome():
            reached.append("started to play")

    assert exit_code_of(played) == 143
    assert reached == ["made the folder"]


def test_a_second_signal_does_not_stop_the_clean_up() -> None:
    reached: list[str] = []

    def played(ending: Ending) -> None:
        try:
            with ending.welcome():
                send(signal.SIGTERM)
        finally:
            send(signal.SIGINT)
            send(signal.SIGTERM)
            reached.append("cleaned up")

    assert exit_code_of(played) == 143
    assert reached == ["cleaned up"]


def test_a_signal_whose_exception_was_lost_in_a_callback_ends_the_block_all_the_same() -> None:
    def played(ending: Ending) -> None:
        with ending.welcome():
            with suppress(SystemExit):
                send(signal.SIGTERM)
            raise ValueError("what the callback's caller made of it")

    assert exit_code_of(played) == 143


def test_a_second_signal_is_heard_when_the_first_was_lost() -> None:
    reached: list[str] = []

    def played(ending: Ending) -> None:
        with ending.welcome():
            with suppress(SystemExit):
                send(signal.SIGTERM)
            send(signal.SIGINT)
            reached.append("behind the second signal")

    assert exit_code_of(played) == 143
    assert not reached


def test_the_handlers_that_were_there_come_back(handlers: list[object]) -> None:
    with Ending():
        assert signal.getsignal(signal.SIGTERM) != handlers[0]
    assert [signal.getsignal(number) for number in SIGNALS] == handlers


def test_a_signal_that_is_ignored_from_outside_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Ending() as ending, ending.welcome():
        send(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
