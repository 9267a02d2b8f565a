"""The measurements. Each file measures one thing on one system in one fresh database and returns a `Measurement`."""
