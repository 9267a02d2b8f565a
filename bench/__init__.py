"""Weft and its peers, measured on one PostgreSQL in one run.

    python -m bench --quick

`systems/` says what each contender is (data only), `peers/` and `floor.py` are the programs that drive the
contenders in their own environments, `scenarios/` are the measurements, `plan.py` interleaves them and
`report.py` prints the medians. README.md explains the method.
"""
