"""Mutation testing: changes of one sign, coefficient or index at a time, and whether the fast tests notice."""
