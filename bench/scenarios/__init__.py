"""The measurements. Each file measures one thing on one system and returns a list of `Measurement`.

`drain`, `enqueue` and `latency` are asked of every system, in a fresh database for each repeat. `scale`, `fairness`,
`idle`, `limits` and `start` are asked of Weft alone; they repeat themselves (`rounds`) and compare within a round.
"""
