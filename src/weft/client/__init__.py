"""Weft over HTTP, from Python: what the command line's remote mode and HTTP workers use, and you can.

    Client ─ question ─▶ net.session ─▶ a server, or the same application in this process

Invariants: an answer that is not a success becomes the error it names, of the same tree as everywhere in Weft; a call
is repeated only if repeating it cannot do anything twice (a read, or a POST with an Idempotency-Key).
"""
