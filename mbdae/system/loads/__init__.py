"""One file per force family. Each has a kernel that adds its generalised forces to `Q` (and, where it has one, its energy)."""
