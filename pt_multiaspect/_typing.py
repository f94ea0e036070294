"""Array types that the whole package uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Objects = NDArray[np.object_]
