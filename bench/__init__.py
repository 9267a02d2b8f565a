"""Weft and its peers, measured on one PostgreSQL in one run.

    python -m bench --quick

`systems/` says what each contender is (data only), `peers/` and `floor.py` are the programs that drive the
contenders in their own environments, `scenarios/` are the measurements, `plan.py` interleaves them,
`comparison.py` makes ratios within rounds, `estimate.py` and `verdict.py` say how sure they are, and `report.py` prints
them. README.md explains the method.
"""
