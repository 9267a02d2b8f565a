"""Ways to run a problem. Each file has `run(problem, say)`: what came of it, or an exception that says why not.

`orchestrator` drives the real AIOpsLab package, `service` asks an AIOpsLab server somewhere else, `simulated` is a small
stand-in of our own in which faults are scripted. They run in a child process, which may be ended at any moment: SIGINT
first, so that a fault that was injected can be taken back.
"""
