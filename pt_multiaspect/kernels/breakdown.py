"""Values of measures as sums over ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .._typing import Floats
from .hits import Hits

#: Contributions that follow from the definition of a measure, and contributions that are the
#: increase of the value if a rank is added.
STATED, MARGINAL = "stated", "marginal"


@dataclass(frozen=True, eq=False)
class Breakdown:
    """Values of rankings as sums over ranks.

    They are sums of an offset, contributions of documents, and contributions without a rank.
    """

    hits: Hits
    #: The contribution of each hit; hits are all retrieved documents, see `Hits.dense`.
    contribution: Floats
    #: Gain and discount of each hit, and the denominator per query, if the measure has them.
    gain: Floats | None = None
    discount: Floats | None = None
    norm: Floats | None = None
    #: The part of the value that does not depend on the documents, per query.
    offset: Floats | None = None
    #: Contributions that belong to no rank, per query, by their description.
    rest: Mapping[str, Floats] = field(default_factory=dict)
    #: Other quantities that the measure computes for each hit, by name.
    columns: Mapping[str, Floats] = field(default_factory=dict)
    #: The increase of the value if a hit were not in the wrong order with the document above it.
    swap_cost: Floats | None = None
    how: str = STATED

    def values(self) -> Floats:
        """Return the value of each query, shape (n_queries,).

        It is the sum of its contributions, with and without a rank, and of the offset.
        """
        total = self.hits.total(self.contribution)
        if self.offset is not None:
            total = total + self.offset
        for contribution_without_rank in self.rest.values():
            total = total + contribution_without_rank
        return np.asarray(total, dtype=np.float64)
