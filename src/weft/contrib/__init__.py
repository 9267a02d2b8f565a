"""Applications on top of Weft. Each has its own tables, routes, chores and commands; nothing below knows of them."""
