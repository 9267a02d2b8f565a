"""Who watches what, and what they are shown: subjects, live queries, sessions, the messages of `/v1/live`.

    your table ──trigger──▶ change_inbox ──sequencer──▶ changes ──follower──▶ watched: (subject, args, scope)
                    └─ NOTIFY forge_changes     └─ NOTIFY forge_changes, of ours │ debounce, look again, compare
                                                                                 ▼
                                                              outbox of each subscriber ──▶ socket

Sessions: connected → reconnecting (the socket broke, or its server died) → connected again or disconnected; subscriptions
go with their session. They are rows so that people and other servers see them; nothing that is pushed depends on them.

Invariants. One look serves everybody who watches the same thing with the same rights. What is shown was read as the
watcher's org. Who comes back is told that nothing happened only if the feed knows it. A subscriber that does not read holds
no more than its outbox, and is cut off; it resumes by its cursor and is told if there is a gap. This folder decides and
reads; `api/` follows the feed and speaks to sockets.
"""
