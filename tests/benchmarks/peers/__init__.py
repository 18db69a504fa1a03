"""`make bench-peers`: the same mechanisms in packages that a user would pick instead, each in a process of its own."""
