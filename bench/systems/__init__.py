"""The contenders. One file each, holding `SYSTEMS`: the `bench.system.System` values it adds to the run."""
