"""Files of runs and qrels: TREC lines, Parquet and Arrow, plain or compressed."""
