"""Judgments that are built once for several evaluators of the same qrels."""

from __future__ import annotations

import threading
from copy import copy

import pandas as pd

from ..collection.judgments import Judgments


class LastJudgments(threading.local):
    """The judgments of the last qrels of each thread.

    PyTerrier creates an evaluator for each run, from frames with the same content. As frames can be changed in
    place, their content is compared.
    """

    _judgments: Judgments | None = None

    def of(self, qrels: pd.DataFrame) -> Judgments:
        """Return the judgments of a frame, with all cached results."""
        if self._judgments is None or not self._judgments.is_of(qrels):
            self._judgments = None  # so that both are not in memory at once
            self._judgments = Judgments(qrels)
        return self._judgments

    def fresh(self, qrels: object) -> Judgments:
        """Return judgments without the cached results of measures, as a user's class may have changed since."""
        if not isinstance(qrels, pd.DataFrame):
            return Judgments.of(qrels)
        last = self.of(qrels)
        result = copy(last)
        result.cached("pairs", lambda: last.pairs)
        return result
