"""What came of one mutant."""

from dataclasses import dataclass

from .equivalent import equivalents


@dataclass(frozen=True)
class Result:
    """A change and the test that noticed it.

    Attributes
    ----------
    key : str
        Of the change and the content of the file.
    group, file : str
    line : int
    kind : str
    text : str
        The line as it was.
    change : str
    killer : str
        The first test that failed, `timeout` or `import`; empty if the mutant survived.
    seconds : float
    """

    key: str
    group: str
    file: str
    line: int
    kind: str
    text: str
    change: str
    killer: str
    seconds: float

    @property
    def survived(self) -> bool:
        """Whether no test failed."""
        return not self.killer

    @property
    def reason(self) -> str:
        """Why no test can notice it; empty if one can."""
        return equivalents().get((self.file, self.text, self.change), "")
