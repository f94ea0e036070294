"""Groups of documents, files of groups, and targets for measures of fairness."""
