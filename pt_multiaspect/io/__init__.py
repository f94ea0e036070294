"""Files of runs and qrels: TREC lines, JSON, Parquet, plain or compressed."""
