"""Cron in words."""

import random

import pytest
from test_cron import random_expression

from weft.cron import schedule as cron
from weft.cron import words


@pytest.mark.parametrize(("text", "said"), [
    ("* * * * *", "every minute"),
    ("* 9-17 * * *", "every minute of the hours 09 to 17"),
    ("*/5 * * * *", "every 5 minutes"),
    ("0 * * * *", "at minute 0 of every hour"),
    ("5,35 * * * *", "at minutes 5 and 35 of every hour"),
    ("0 9 * * *", "at 09:00"),
    ("0 9 * * 1-5", "at 09:00, on Monday to Friday"),
    ("30 8,20 * * 0,6", "at 08:30 and 20:30, on Saturday and Sunday"),
    ("*/15 9-17 * * MON-FRI", "every 15 minutes of the hours 09 to 17, on Monday to Friday"),
    ("10 */2 * * *", "at minute 10 of every second hour from 00:10"),
    ("0 0 1,15 * *", "at 00:00, on day 1 and 15 of the month"),
    ("0 0 L * *", "at 00:00, on the last day of the month"),
    ("0 0 1,L 1,7 *", "at 00:00, on day 1 and the last day of the month, in January and July"),
    ("0 0 13 * FRI", "at 00:00, on day 13 of the month or on Friday"),
    ("0 0 1-31 * MON", "at 00:00"),
    ("0 0 13 * 0-6", "at 00:00"),
    ("0 0 */10 * MON", "at 00:00, on day 1, 11, 21 and 31 of the month if that is Monday"),
    ("0 12 * * 5#2", "at 12:00, on the second Friday of the month"),
    ("0 12 * * 5L,MON", "at 12:00, on Monday and the last Friday of the month"),
    ("0 0 * 6-8 *", "at 00:00, in June to August"),
    ("@yearly", "at 00:00, on day 1 of the month, in January"),
    ("0 0 * * FRI-SUN", "at 00:00, on Friday to Sunday"),
])  # fmt: skip
def test_what_an_expression_means(text: str, said: str) -> None:
    assert words.describe(cron.parse(text)) == said


def test_days_are_named_exactly_where_not_every_day_fits() -> None:
    dice = random.Random(7)
    for _ in range(500):
        text = " ".join(["0", "0", dice.choice(DAYS), "*", dice.choice(WEEKDAYS)])
        found = cron.parse(text)
        every = all(found.days.of(2026, month) == (2 << length) - 2 for month, length in ((1, 31), (2, 28), (4, 30)))
        assert (words.describe(found) == "at 00:00") == every, text


DAYS = ("*", "*/1", "*/2", "1-31", "1-30", "13", "1,15", "L", "10-20")
WEEKDAYS = ("*", "*/1", "*/3", "0-6", "1-7", "MON", "MON-FRI", "5#2", "5L")


def test_every_expression_has_words() -> None:
    dice = random.Random(3)
    for _ in range(500):
        assert words.describe(cron.parse(random_expression(dice)))
