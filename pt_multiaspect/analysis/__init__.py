"""Evaluating the evaluation: how measures agree, and how well they tell systems apart."""

from .correlation import correlation, rank_correlation, tau_ap
from .discriminative import DiscriminativePower, discriminative_power

__all__ = ["DiscriminativePower", "correlation", "discriminative_power", "rank_correlation", "tau_ap"]
