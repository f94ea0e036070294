"""Settings of reports."""

from __future__ import annotations

#: The measure of each aspect alone.
BASE = "nDCG@10"

#: The paired two-sided test of means over topics.
TEST = "t"

#: The correction for the comparisons of one measure with one baseline.
CORRECTION = "holm"

#: The significance level.
ALPHA = 0.05

#: The confidence level of intervals.
CI = 0.95

#: The number of ranks shown per ranking.
DEPTH = 10
