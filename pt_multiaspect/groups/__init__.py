"""Groups of documents, their files, and targets for measures of fairness."""
