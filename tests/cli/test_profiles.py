"""Which server a command talks to, and the profiles that name servers."""

import json
import re
import stat
from pathlib import Path

import psycopg
import pytest
import shell
from shell import Shell

from weft.base import errors
from weft.cli import connecting, profiles
from weft.cli.connecting import Where
from weft.cli.profiles import Profile, Profiles


@pytest.fixture(autouse=True)
def config_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder


@pytest.fixture
def stored() -> Profiles:
    found = Profiles({"work": Profile("https://work.test", "weft_w"), "home": Profile("http://home.test")}, used="home")
    profiles.save(found)
    return found


@pytest.mark.parametrize(
    ("where", "environ", "found"),
    [
        (Where(), {}, Profile("http://home.test")),
        (Where(profile="work"), {}, Profile("https://work.test", "weft_w")),
        (Where(profile="work", key="weft_k"), {}, Profile("https://work.test", "weft_k")),
        (Where(profile="local"), {}, None),
        (Where(), {"WEFT_PROFILE": "work"}, Profile("https://work.test", "weft_w")),
        (Where(), {"WEFT_SERVER": "http://s.test", "WEFT_KEY": "weft_e"}, Profile("http://s.test", "weft_e")),
        (
            Where(server="http://o.test"),
            {"WEFT_SERVER": "http://s.test", "WEFT_KEY": "weft_e"},
            Profile("http://o.test", "weft_e"),
        ),
        (Where(server="http://o.test", key="weft_k"), {"WEFT_KEY": "weft_e"}, Profile("http://o.test", "weft_k")),
        (Where(profile="work"), {"WEFT_SERVER": "http://s.test"}, Profile("https://work.test", "weft_w")),
        (Where(), {"DATABASE_URL": "postgresql://x"}, None),
        (Where(), {"WEFT_FOLDER": ".weft"}, None),
        (Where(org="shop"), {"DATABASE_URL": "postgresql://x"}, None),
        (Where(profile="work"), {"DATABASE_URL": "postgresql://x"}, Profile("https://work.test", "weft_w")),
    ],
)
def test_the_nearest_word_decides(stored: Profiles, where: Where, environ: dict[str, str], found: Profile | None) -> None:
    assert connecting.chosen(where, environ) == found


@pytest.mark.parametrize(
    ("where", "environ", "words"),
    [
        (Where(server="http://o.test", profile="work"), {}, "not both"),
        (Where(key="weft_k"), {"DATABASE_URL": "postgresql://x"}, "--key needs --server"),
        (Where(server="http://o.test", org="shop"), {}, "the org is the key's own"),
        (Where(profile="nobody"), {}, "there are: home, work"),
    ],
)
def test_what_contradicts_itself_is_refused(stored: Profiles, where: Where, environ: dict[str, str], words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        connecting.chosen(where, environ)


def test_only_the_owner_can_read_the_keys(stored: Profiles, config_home: Path) -> None:
    file = profiles.path()
    assert file == config_home / "weft" / "profiles.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [one.name for one in file.parent.iterdir()] == ["profiles.json"]
    file.chmod(0o644)
    with pytest.raises(errors.ConfigError, match="chmod 600"):
        profiles.load()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"profiles": {"a": {}}}', b'{"surprise": 1}', b"\xff"])
def test_a_file_that_is_not_ours_is_said(stored: Profiles, content: bytes) -> None:
    profiles.path().write_bytes(content)
    with pytest.raises(errors.ConfigError, match="is not a file of profiles"):
        profiles.load()


@pytest.mark.parametrize("name", ["local", "", "a b", "../x", "x" * 65, "ä"])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(errors.InvalidInput, match="cannot name a profile"):
        profiles.check_name(name)


async def test_profiles_from_the_shell(config_home: Path, database_url: str) -> None:
    weft = Shell(XDG_CONFIG_HOME=str(config_home))
    async with shell.served(database_url) as remote:
        server, key = str(remote.env["WEFT_SERVER"]), str(remote.env["WEFT_KEY"])
        code, said = await weft("profile", "add", "here", "--server", server, "--key", "-", stdin=f"{key}\n".encode())
        assert (code, said) == (0, f"here is {server}; use it: weft profile use here\n")
        assert await weft.json("tasks", "--profile", "here") == []
        assert (await weft("profile", "use", "here"))[0] == 0
        made = await weft.json("enqueue", "mail", "--no-check")
        assert (await Shell(DATABASE_URL=database_url).json("tasks", "show", made["id"]))["kind"] == "mail"
    code, said = await weft("profile", "list")
    assert code == 0 and said.split()[-3:] == ["*", "here", server] and key not in said
    assert (await weft.json("profile", "list")) == [{"name": "here", "server": server, "has_key": True, "used": True}]
    code, said = await weft("tasks")
    assert code == 1 and re.fullmatch(rf"weft: {server} cannot be reached: .+; is `weft server` running there\?\n", said)
    assert await weft("profile", "remove", "here") == (0, "removed here\n")
    assert (await weft("profile", "remove", "here"))[0] == 1
    assert await weft("profile", "list") == (0, "no profiles; the local database is used\n")
    assert "key" not in profiles.path().read_text()


async def test_a_key_without_the_right_is_said_with_the_fix(database_url: str) -> None:
    async with shell.served(database_url, role="reader") as reader:
        code, said = await reader("enqueue", "mail", "--no-check")
        assert code == 1 and "a reader may not do task.create; come with the role admin or operator or writer" in said
        assert await reader.json("tasks") == []
        code, said = await Shell(**{**reader.env, "WEFT_KEY": "weft_wrong"})("tasks")
        assert code == 1 and "the key is not known" in said and "weft key create" in said
        code, said = await Shell(**{**reader.env, "WEFT_KEY": None})("tasks")
        assert code == 1 and "no credential was given" in said


async def test_an_org_is_chosen_by_its_slug_and_sees_only_its_own(database_url: str) -> None:
    weft = Shell(DATABASE_URL=database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("insert into weft.orgs (name, slug) values ('Shop', 'shop')")
    made = json.loads((await weft("enqueue", "mail", "--no-check", "--org", "shop", "--json"))[1])
    assert [one["id"] for one in await weft.json("tasks", "--org", "shop")] == [made["id"]]
    assert await weft.json("tasks") == []
    assert (await weft("tasks", "show", made["id"]))[0] == 1
    code, said = await weft("tasks", "--org", "nobody")
    assert code == 2 and "there is no org 'nobody'" in said
