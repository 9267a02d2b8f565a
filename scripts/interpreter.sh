#!/bin/sh
# The Python that .venv is made with: python3; or the system's own, if it is the same version and python3 was built without
# --enable-optimizations, as pyenv does it unless told otherwise: the same work then takes less of the processor's time.
ask='import sys, sysconfig
print("%d.%d" % sys.version_info[:2] if "--enable-optimizations" not in (sysconfig.get_config_var("CONFIG_ARGS") or "") else "")'
plain=$(python3 -c "$ask" 2>/dev/null)
system=/usr/bin/python$plain
# Debian keeps ensurepip in a package of its own
if [ -n "$plain" ] && [ -x "$system" ] && "$system" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "$system"
else
  echo python3
fi
