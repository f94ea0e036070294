"""Identifiers as bytes and codes: the engine of the join of runs and judgments, which a reader may skip."""
