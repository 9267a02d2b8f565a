"""What a process remembers: for so long, and no more than so much."""

from weft.base.memory import Memory


def test_it_forgets_in_time_counted_from_the_question() -> None:
    now = 0.0
    memory: Memory[str, int] = Memory(seconds=10, most=100, clock=lambda: now)
    asked = memory.now()
    now = 4.0
    assert memory.keep("a", 1, asked=asked) == 1
    now = 9.9
    assert memory.get("a") == 1
    now = 10.0
    assert memory.get("a") is None and memory.get("b") is None


def test_full_it_forgets_what_is_old_and_only_else_everything() -> None:
    now = 0.0
    memory: Memory[int, int] = Memory(seconds=10, most=3, clock=lambda: now)
    memory.keep(0, 0, asked=0)
    now = 11.0
    for one in (1, 2, 3):
        memory.keep(one, one, asked=now)
    assert [memory.get(one) for one in (1, 2, 3)] == [1, 2, 3]
    memory.keep(4, 4, asked=now)
    assert [memory.get(one) for one in (1, 2, 3, 4)] == [None, None, None, 4]
