"""The engine of the join of runs and judgments, which a reader may skip.

It encodes (`texts`: identifiers as bytes, and queries as codes by `Texts.codes`), looks up (`pairs`: which rows of
a run are judged, by `PairTable.lookup`) and orders (`order`: the rows of a run, by `positions`).
"""
