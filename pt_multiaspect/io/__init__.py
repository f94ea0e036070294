"""Files of runs and qrels: TREC lines, JSON, Parquet and Arrow, plain or compressed."""
