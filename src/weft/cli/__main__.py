"""`python -m weft.cli` is `weft`."""

from weft.cli.main import main

main()
