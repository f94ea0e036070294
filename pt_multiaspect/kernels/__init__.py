"""Vectorised computations on flat arrays: positions and gains of documents, one value per query.

The kernels do not depend on pandas, ir-measures or aspects. Each function processes all queries at
once; arrays of judged and of retrieved documents are sorted by query.
"""
