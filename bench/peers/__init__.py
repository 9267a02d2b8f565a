"""The programs that drive the contenders, each run inside its contender's own environment.

They share one command line, described in `bench/system.py` and implemented by `protocol.py` and `protocol.mjs`.
"""
