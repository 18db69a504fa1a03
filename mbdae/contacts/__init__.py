"""Contacts: gap functions, impacts and stops as events, sliding velocities."""
