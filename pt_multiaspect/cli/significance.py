"""Options of tests against a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..tables.content import test_name

#: The default significance level.
ALPHA = 0.05

CORRECTIONS = ("holm", "bonferroni", "fdr_bh", "none")


@dataclass(frozen=True)
class Significance:
    """The values of --test, --correction and --alpha."""

    test: str = "t"
    correction: str = "holm"
    alpha: float = ALPHA

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of functions that test against a baseline."""
        correction = None if self.correction == "none" else self.correction
        return {"test": self.test, "correction": correction, "alpha": self.alpha}

    @property
    def is_corrected(self) -> bool:
        """Whether a correction is applied; 'tukey' itself corrects for the number of pairs."""
        return self.correction != "none" and self.test != "tukey"

    def __str__(self) -> str:
        return f"two-sided {test_name(self.test, None)}, p < {self.alpha:g}"
