"""What SQLite itself does to a forked child whose parent had the file open."""

from __future__ import annotations

from tests.core.leases.test_fork_leases import _run


def test_what_a_child_acquires_is_seen_by_all_after_its_parent_closed(url: str) -> None:
    answer = _run(
        url,
        """
        def work():
            service.acquire("plan", "p2", "child")
            os.write(begun, b"x")
            os.read(closed, 1)
            service.acquire("plan", "p3", "child")
            os.write(begun, b"x")
            os.read(closed, 1)
            return "done"

        wait, begun = os.pipe()
        closed, tell = os.pipe()
        service.acquire("plan", "p1", "parent")

        def close():
            os.read(wait, 1)
            service.close()
            os.write(tell, b"x")
            os.read(wait, 1)
            with lockwatch.connect(url) as other:
                print([lock.resource for lock in other.snapshot().locks])
            os.write(tell, b"x")

        closing = threading.Thread(target=close)
        closing.start()
        print(fork(work))
        closing.join()
        """,
    )
    assert sorted(answer) == ["['plan/p1', 'plan/p2', 'plan/p3']", "done"]


def test_a_fork_in_the_middle_of_writes_of_other_threads_lets_the_child_write(url: str) -> None:
    answer = _run(
        url,
        """
        over = threading.Event()

        def write(name):
            while not over.is_set():
                service.acquire("plan", name, "parent")
                service.release("plan", name, "parent")

        writers = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(2)]
        for writer in writers:
            writer.start()
        print({fork(lambda: service.acquire("plan", f"p{n}", "child").owner_id) for n in range(15)})
        over.set()
        """,
        timeout=120,
    )
    assert answer == ["{'child'}"]
