"""Numbers from flat arrays: where documents stand, what they are worth, one value a query.

Nothing here knows of pandas, ir-measures or aspects. Every function works on all queries at
once; arrays of judged documents and of retrieved ones are sorted by query.
"""
