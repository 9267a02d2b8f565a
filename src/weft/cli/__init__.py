"""The command line: one file per command group. Nothing heavy is imported before a command is chosen.

    main ──name──▶ worker   one process: working; several, or recycled ones: supervise
                   dev      the worker, demo content and a screen in one process
                   migrate  the schema, forth and back
                   enqueue, tasks, explain, dead   looking at work and steering it

Exit codes: 0 it worked, 1 it failed, 2 the command or a setting is wrong. An error of ours is one line that says what
to do; an error in your own code keeps its traceback.
"""
