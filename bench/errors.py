"""What can go wrong in a benchmark run.

BenchError
├── EnvironmentFailed   a contender could not be installed
├── ServerFailed        PostgreSQL could not be started or is not durable
├── ProcessFailed       a contender's program ended with an error
└── Stalled             a contender stopped making progress
"""


class BenchError(Exception):
    """The benchmark could not be run."""


class EnvironmentFailed(BenchError):
    """A contender could not be installed."""


class ServerFailed(BenchError):
    """PostgreSQL could not be started, or would not keep what it commits."""


class ProcessFailed(BenchError):
    """A contender's program ended with an error."""


class Stalled(BenchError):
    """A contender stopped making progress."""
