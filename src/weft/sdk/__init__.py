"""What user code imports: task declarations, retry policies, the context of an attempt. No I/O."""
