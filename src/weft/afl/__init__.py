"""AFL, the agent flow language: sources → plans, with everything that is wrong told at once. Pure.

    text ─ lexer ─▶ tokens ─ parser (flow, expressions, reading) ─▶ the tree (syntax) ─ program ─▶ what is declared where
         ─ walking ─▶ what is wrong (rules, diagnostic), and what it means (scope) ─ lowering (working, joining) ─▶ plans

`walking` goes through every declaration once. It is made of one file for each family of rules, each on top of the one
before: references, values, resolving, arguments, yielding, branching, bodies. `formatting` works on tokens alone, so that a
file that is not finished can be formatted; `definition` is a flow as the seed's entities describe it.

What always holds: no text makes the compiler fail or hang; a program without errors compiles to plans that `plan.check`
accepts; formatting changes no token.
"""
