"""A stand-in for the package AIOpsLab with the interface that our executor uses; the tests put it on the path."""
