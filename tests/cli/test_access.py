"""org, user, role, key and login from the shell: in process and against a real server, with the same words."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import shell
from shell import Shell


@pytest.fixture(params=["here", "server"])
async def either(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Shell]:
    """A shell on the database: in process, then over the network with an operator's key."""
    if request.param == "here":
        yield Shell(DATABASE_URL=database_url)
    else:
        async with shell.served(database_url, role="operator") as remote:
            yield remote


async def test_orgs_from_the_shell(either: Shell) -> None:
    made = await either.json("org", "create", "shop", "--name", "The Shop", "--tier", "free", "--admin-key", "first")
    assert made["key"].startswith("weft_") and (made["tier"], made["max_concurrent"]) == ("free", 10)
    told = ("--max-concurrent", "none", "--retention", "30d", "--settings", '{"a": 1}', "--suspend")
    changed = await either.json("org", "change", "shop", *told)
    assert (changed["max_concurrent"], changed["retention"], changed["settings"]) == (None, 2592000.0, {"a": 1})
    assert changed["suspended_at"] is not None
    assert (await either.json("org", "change", made["id"], "--resume"))["suspended_at"] is None
    assert [one["slug"] for one in await either.json("org")] == ["default", "shop"]
    code, said = await either("org", "list")
    assert code == 0 and "The Shop" in said and "no limit" in said
    code, said = await either("org", "show", "shop")
    assert code == 0 and made["id"] in said
    assert (await either("org", "show", "nowhere"))[0] == 1
    code, said = await either("org", "create", "shop")
    assert code == 1 and "already" in said


async def test_users_roles_and_keys_from_the_shell(either: Shell) -> None:
    made = await either.json("user", "create", "auth0|1", "--role", "writer", "--email", "ada@x.org")
    assert (await either("user", "change", "ada@x.org", "--role", "admin"))[1] == f"ada@x.org is admin ({made['id']})\n"
    assert await either("role", "create", "finance", "--name", "Finance") == (0, "made role:finance\n")
    assert await either("role", "assign", "finance", "ada@x.org") == (0, "ada@x.org has role:finance\n")
    assert [one["id"] for one in await either.json("user", "--role", "finance")] == [made["id"]]
    assert (await either.json("role", "show", "finance"))["members"] == 1
    code, said = await either("user")
    assert code == 0 and "ada@x.org" in said and "finance" in said
    assert await either("role", "unassign", "finance", made["id"]) == (0, f"{made['id']} no longer has role:finance\n")
    assert await either("role", "remove", "finance") == (0, "removed role:finance\n")
    assert await either("role") == (0, "no roles of the org's own yet\n")
    assert await either("user", "remove", "ada@x.org") == (0, "removed ada@x.org\n")
    code, said = await either("user", "show", "ada@x.org")
    assert code == 1 and "no user has the email" in said
    key = await either.json("key", "create", "narrow", "--role", "reader", "--scope", "task.read", "--request-rate", "5")
    assert (key["scopes"], key["request_rate"]) == (["task.read"], 5)
    assert "task.read" in (await either("key", "list"))[1]


async def test_logging_in_keeps_what_the_server_takes_and_nothing_else(database_url: str, folder: Path) -> None:
    weft = Shell(XDG_CONFIG_HOME=str(folder))
    async with shell.served(database_url) as remote:
        server, key = str(remote.env["WEFT_SERVER"]), str(remote.env["WEFT_KEY"])
        code, said = await weft("login", server, "--key", "-", stdin=b"weft_wrong\n")
        assert code == 1 and "the key is not known" in said and not (folder / "weft").exists()
        code, said = await weft("login", server, "--key", "-", "--profile", "work", stdin=f"{key}\n".encode())
        assert (code, said) == (0, f"key:tests admin, admin of default, at {server}; kept as the profile work\n")
        assert [one["name"] for one in await weft.json("key", "list")] == ["tests admin"]
        assert [(one["name"], one["used"]) for one in await weft.json("profile", "list")] == [("work", True)]
        assert key not in said
