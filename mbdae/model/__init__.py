"""What a mechanism is: bodies, joints, drivers, forces. Frozen data, checked on construction, nothing to solve with."""
