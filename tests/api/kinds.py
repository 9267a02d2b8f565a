"""What some ids are ids of."""

from weft.db.database import Database


async def alike(database: Database, ids: list[str]) -> list[list[str]]:
    """The ids of each kind: which table they are of and, where there are states and kinds, in which state and of which. What
    no table has is a kind by itself."""
    kinds = dict.fromkeys(ids, "")
    async with database.tx() as tx:
        tables = await tx.rows(
            """
            select
                c.oid::regclass::text,
                array(
                    select s.attname::text from pg_attribute as s where s.attrelid = c.oid and s.attname in ('state', 'kind')
                )
            from pg_class as c
            join pg_attribute as a on a.attrelid = c.oid and a.attname = 'id' and a.atttypid = 'uuid'::regtype
            where c.relnamespace = 'weft'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            order by 1
            """
        )
        for table, telling in tables:
            columns = ", ".join(["r.id::text", *(f"r.{one}" for one in telling)])
            asked = f"select {columns} from {table} as r where r.id = any(%(ids)s::uuid[])"
            for id, *told in await tx.rows(asked, {"ids": ids}):
                kinds[id] += f"{table} {told} "
    grouped: dict[str, list[str]] = {}
    for id, kind in kinds.items():
        grouped.setdefault(kind or id, []).append(id)
    return list(grouped.values())
