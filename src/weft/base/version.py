"""The version of this Weft, as the cluster sees it."""

import importlib.metadata

VERSION = importlib.metadata.version("weft")
