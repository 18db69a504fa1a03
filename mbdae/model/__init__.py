"""Mechanisms as data: bodies, joints, drivers, forces. Frozen dataclasses, validated on construction."""
