"""Readability of documents as an estimate of how understandable they are."""

from .indexes import fog, readability
from .qrels import with_readability
from .understandability import understandability

__all__ = ["fog", "readability", "understandability", "with_readability"]
