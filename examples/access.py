"""An org with a quota, a key that may only look, a user with a role: python examples/access.py

The application is asked in this process, with the same credentials and the same refusals as over the network.
"""

import asyncio

from weft import App, WeftError
from weft.access import keys, orgs, roles, users
from weft.api import server
from weft.client.client import Client

app = App()


async def main() -> None:
    async with app:
        async with app.tx() as tx:
            found = [one for one in await orgs.page(tx, org=None) if one.slug == "example"]
            wanted = {"name": "Example", "slug": "example", "actor": "setup"}
            org = found[0] if found else await orgs.create(tx, **wanted, max_concurrent=5)
            _, text = await keys.create(
                tx, org=org.id, name="dashboard", role="reader", actor="setup", scopes=["task.read", "user.read"]
            )
            if not await users.page(tx, org=org.id):
                ada = await users.create(tx, org=org.id, external_id="auth0|5f7c", role="writer", actor="setup")
                await roles.create(tx, org=org.id, slug="finance", name="Finance", actor="setup")
                await roles.assign(tx, slug="finance", user=ada.id, org=org.id, actor="setup")
            print([(user.external_id, user.role, user.org_roles) for user in await users.page(tx, org=org.id)])
        async with Client("http://weft.local", text, transport=server.build(await app.open())) as client:
            me = await client.get("/v1/me")
            print(me["actor"], "is a", me["role"], "of", me["org_slug"], "held to", me["scopes"])
            print("tasks:", (await client.get("/v1/tasks"))["items"])
            for path in ("/v1/queues", "/v1/keys"):
                try:
                    await client.get(path)
                except WeftError as refused:
                    print(path, refused.code)


if __name__ == "__main__":
    asyncio.run(main())
