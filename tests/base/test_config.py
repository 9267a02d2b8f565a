"""Settings: from the environment, overridden by arguments, refused when they mean nothing."""

from pathlib import Path

import pytest

from weft.base import config, errors


def test_without_anything_said_the_defaults_hold() -> None:
    assert config.load({}) == config.Settings()


def test_every_setting_can_come_from_the_environment() -> None:
    found = config.load({
        "DATABASE_URL": "postgresql://x", "WEFT_DIRECT_URL": "postgresql://y", "WEFT_POOLED": "yes", "WEFT_FOLDER": "/data",
        "WEFT_POOL_SIZE": "3", "WEFT_ALLOW_SHELL": "1", "WEFT_ALLOW_HOSTS": "a.internal, b.internal,",
        "WEFT_RETENTION_DAYS": "30",
    })  # fmt: skip
    assert found == config.Settings(
        database_url="postgresql://x", direct_url="postgresql://y", pooled=True, folder=Path("/data"), pool_size=3,
        allow_shell=True, allow_hosts=("a.internal", "b.internal"), retention_days=30,
    )  # fmt: skip


def test_our_own_name_for_the_database_wins_over_the_common_one() -> None:
    assert config.load({"DATABASE_URL": "a", "WEFT_DATABASE_URL": "b"}).database_url == "b"


def test_an_argument_wins_and_none_is_no_argument() -> None:
    environment = {"DATABASE_URL": "a", "WEFT_POOL_SIZE": "3"}
    assert config.load(environment, database_url="b").database_url == "b"
    assert config.load(environment, database_url=None).database_url == "a"


@pytest.mark.parametrize("text", ["maybe", "2", "ja"])
def test_a_flag_that_is_neither_is_refused(text: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"WEFT_POOLED=.* is neither true nor false; write 1 or 0"):
        config.load({"WEFT_POOLED": text})


@pytest.mark.parametrize("text", ["many", "0", "-1", "1.5"])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"WEFT_POOL_SIZE=.* must be a whole number of at least 1"):
        config.load({"WEFT_POOL_SIZE": text})


@pytest.mark.parametrize(("text", "said"), [("", False), ("0", False), ("off", False), ("TRUE", True), (" on ", True)])
def test_flags_are_read_as_people_write_them(text: str, said: bool) -> None:
    assert config.load({"WEFT_ALLOW_SHELL": text}).allow_shell is said
