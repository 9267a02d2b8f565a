"""Read-only SQL views that give each seed's documented tables over the one set of real ones. No code, no state.

One file per seed. Every view is `security_invoker`, so that row-level security holds for whoever asks. A test
compares the columns with the seeds; docs/reference/seeds.md says where everything else lives.
"""
