"""What is said about typical mistakes is what was reviewed."""

import mistakes_page


def test_the_messages_are_the_reviewed_ones() -> None:
    assert mistakes_page.PAGE.read_text() == mistakes_page.render(), "run python tests/afl/mistakes_page.py and read it"


def test_there_are_thirty_of_them_and_each_is_told() -> None:
    assert len(mistakes_page.MISTAKES) >= 30
    assert mistakes_page.render().count("flow.afl:") >= len(mistakes_page.MISTAKES)
