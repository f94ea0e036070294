"""Aspects and their label scales."""

from .aspect import Aspect, Scale
from .aspects import Aspects, aspect_name
from .parameter import AspectSpec, parse_aspects, spell_aspects

__all__ = [
    "Aspect",
    "AspectSpec",
    "Aspects",
    "Scale",
    "aspect_name",
    "parse_aspects",
    "spell_aspects",
]
