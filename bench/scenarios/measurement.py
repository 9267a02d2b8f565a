"""What a scenario returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """Named numbers of one repeat of one scenario on one system; units are in the names."""

    values: dict[str, float]
