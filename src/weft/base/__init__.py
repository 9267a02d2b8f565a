"""What everything stands on: errors, ids, durations, JSON, names, settings. No I/O, no state."""
