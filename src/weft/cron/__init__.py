"""When: cron expressions, time zones, and which of the times that are due are fired. Pure.

    fields     the five fields, read into masks of bits
    schedule   the next and the previous time of an expression
    zones      IANA zones as stretches of constant offset, gaps and folds between them
    words      an expression in words
    misfire    what to fire when some times were missed; jitter, start and end
"""
