"""Fortran codes called in the compiled libraries of their packages, with compiled callbacks and no Python in their loops.

`RPAR` and `IPAR`, which the codes pass on to the callbacks without looking at them, are the addresses of the records of a run.
"""
