"""A cron expression in words: what it means, for people who do not read cron."""

from collections.abc import Callable, Sequence

from weft.cron.schedule import Schedule

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = ("", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_ORDINALS = ("last", "first", "second", "third", "fourth", "fifth")


def describe(schedule: Schedule) -> str:
    """One sentence without a full stop: `at 09:00, on Monday to Friday`."""
    parts = [_time(schedule), _days(schedule), _months(schedule)]
    return ", ".join(part for part in parts if part)


def _time(schedule: Schedule) -> str:
    minutes, hours = _members(schedule.minutes), _members(schedule.hours)
    every_hour = len(hours) == 24
    if len(minutes) == 60:
        during = "" if every_hour else f" of the hour{_plural(hours)} {_listed(hours, _two)}"
        return f"every minute{during}"
    if len(minutes) == 1 and len(hours) <= 6:
        return f"at {_and([f'{hour:02}:{minutes[0]:02}' for hour in hours])}"
    step = _step(minutes, 60)
    minute = f"every {step} minutes" if step else f"at minute{_plural(minutes)} {_listed(minutes, str)}"
    if every_hour:
        return minute if step else f"{minute} of every hour"
    apart = _step(hours, 24)
    if apart and len(minutes) == 1:
        return f"{minute} of every {_nth(apart)} hour from {hours[0]:02}:{minutes[0]:02}"
    return f"{minute} of the hour{_plural(hours)} {_listed(hours, _two)}"


def _days(schedule: Schedule) -> str:
    days = schedule.days
    dates = _members(days.dates)
    by_date, by_weekday = "", ""
    if len(dates) < 31:
        named = [f"day {_listed(dates, str)}"] if dates else []
        by_date = f"on {_and([*named, *(['the last day'] if days.last else [])])} of the month"
    if days.weekdays != 0x7F:
        # the week of most people begins on Monday
        weekdays = sorted(_members(days.weekdays), key=lambda day: (day - 1) % 7)
        named = [_run([(day - 1) % 7 for day in weekdays], lambda day: _WEEKDAYS[(day + 1) % 7])] if weekdays else []
        nth = [f"the {_ORDINALS[which]} {_WEEKDAYS[day]} of the month" for day, which in days.nth]
        by_weekday = f"on {_and([*named, *nth])}"
    if days.either and not (by_date and by_weekday):
        return ""  # one of them says every day, and one of them is enough
    if by_date and by_weekday:
        return f"{by_date} {'or' if days.either else 'if that is'} {by_weekday.removeprefix('' if days.either else 'on ')}"
    return by_date or by_weekday


def _months(schedule: Schedule) -> str:
    months = _members(schedule.months)
    return "" if len(months) == 12 else f"in {_listed(months, lambda month: _MONTHS[month])}"


def _members(mask: int) -> list[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def _step(numbers: Sequence[int], size: int) -> int | None:
    """How far apart, if evenly and all around the clock from 0; None if not."""
    if len(numbers) < 2 or numbers[0] != 0:
        return None
    step = numbers[1]
    return step if size % step == 0 and list(numbers) == list(range(0, size, step)) else None


def _listed(numbers: Sequence[int], name: Callable[[int], str]) -> str:
    """Names joined, three or more in a row as a range."""
    return _run(list(numbers), name)


def _run(numbers: list[int], name: Callable[[int], str]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named: list[str] = []
    for run in runs:
        named += [f"{name(run[0])} to {name(run[-1])}"] if len(run) > 2 else [name(one) for one in run]
    return _and(named)


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _plural(numbers: Sequence[int]) -> str:
    return "" if len(numbers) == 1 else "s"


def _nth(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def _two(number: int) -> str:
    return f"{number:02}"
