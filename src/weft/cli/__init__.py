"""The command line: one file per command group. Nothing heavy is imported before a command is chosen.

    main ──name──▶ enqueue, tasks, dead, queues, nodes, locks, key    work, over REST
                       └─ connecting ─▶ Client ─▶ a server, or local: the same API in this process
                   worker, server, up    processes: working, serving, supervise
                   dev                   server, workers (reloading), demo_app, and a screen
                   demo, bench           something to look at: a crash, numbers (measuring)
                   doctor                facts ─▶ findings, work_findings
                   migrate               the schema, forth and back
                   profile, completion   for whoever sits at the keyboard

Exit codes: 0 it worked, 1 it failed, 2 the command or a setting is wrong. An error of ours is one line that says what
to do; an error in your own code keeps its traceback. Tables, bars and JSON are written by `output` and `showing`.
"""
