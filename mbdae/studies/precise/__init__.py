"""Solutions in extended precision (`numpy.longdouble`), for the verification of reference values; see `mbdae confirm --precise`."""

from .comparison import confirm, confirm_all
from .numbers import enable

__all__ = ["confirm", "confirm_all", "enable"]
