"""Workers: claim → run → report.

    Claimer ──claims of ≤500──▶ Buffer ──▶ runners (long-lived coroutines) ──outcomes──▶ Reporter ──≤500 a flush──▶ settle
       ▲                                        │
       └── wake-ups, a slow poll                └── Pulse: one beat per worker keeps every lease, brings cancellations

The buffer holds at most about 200 ms of observed work, so that a crash loses no more than leases. Orgs take turns in
it. Deadlines are counted on the monotonic clock from before the claim was sent. What is limited is never buffered.
"""
