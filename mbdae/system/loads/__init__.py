"""One file per kind of force element: its kernels and the `KIND` that names them; `kinds` lists those that are built in."""
