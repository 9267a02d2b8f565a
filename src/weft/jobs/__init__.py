"""Jobs: what to do, and when. So far the arithmetic of when. Pure.

    cron      five fields → the next and the previous time, and the same in words
    zones     local times of an IANA zone → instants, at gaps and folds too
    misfire   which times to fire, when some were missed
"""
