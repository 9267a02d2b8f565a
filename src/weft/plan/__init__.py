"""The graph that every front end compiles to, and what can be decided about it without a database. Pure.

A *plan* is a table of *blocks*. A block is like a function: it has params, *nodes* and outputs. A node does one of
three things: run a task, compute a value, or call a block. That is all; the rest are words on a node:

    after, rule   what it waits for, and how that must have ended
    when          it is skipped if this is not true
    foreach       one instance for each element; its output is the list of theirs
    catch         the block that is called if it fails, and whose ending then counts as its own

    DAG task      → a node with a task                AFL step       → a node with a task, a value or a call
    DAG mapping   → foreach on that node              AFL foreach    → foreach on a node that calls a block
    DAG condition → when                              AFL when/match → a node with `when` for each case
    DAG params    → params of the entry block         AFL facet      → a block of its own, called by name

A block with `within` is written inside another and sees its names too; any other sees only its params. Naming a
node's output is waiting for it: edges come from `after` and from references, those of nested blocks included.

Read in this order: `expression` (what can be said), `model` (the plan), `graph` (its edges), `check` (what is wrong
with it), `rules` and `frontier` (what follows when a node ends), `evaluate` and `operators` (what an expression is).

What always holds: a checked plan has no cycle, so every run of it ends. What a node's ending leads to is found from
counters of its successors alone. The same endings in any order lead to the same states.
"""
