"""The gate that keeps calls out while the process forks."""

from __future__ import annotations

import threading

from lockwatch.core.gate import Gate


def test_of_two_threads_that_fork_at_once_the_last_one_lets_calls_in_again() -> None:
    gate = Gate()
    call = threading.Thread(target=gate.enter, args=("call",), daemon=True)
    gate.shut()
    gate.shut()
    gate.open()
    call.start()
    call.join(0.1)
    assert call.is_alive()
    gate.open()
    call.join(10)
    assert not call.is_alive()
