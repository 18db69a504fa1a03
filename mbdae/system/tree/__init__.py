"""Mechanisms in joint coordinates: a spanning tree of joints, and constraints for the joints that it leaves out."""
