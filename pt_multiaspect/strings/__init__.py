"""Internals of the join of runs and judgments.

The steps are encoding (`texts`: identifiers as bytes, and queries as codes by `Texts.codes`),
lookup (`pairs`: the judged rows of a run, by `PairTable.lookup`) and ordering (`order`: the rows of
a run, by `positions`).
"""
