"""Counts of a dataset of many machines, by DuckDB: FOLDER."""

import json
import sys

import duckdb

folder = sys.argv[1]


def table(name):
    return f"read_parquet('{folder}/{name}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)"


spans = duckdb.sql(f"SELECT version, host, count(*) FROM {table('spans')} GROUP BY version, host ORDER BY host").fetchall()
drops = duckdb.sql(f"SELECT count(*) FROM {table('drops')} WHERE session IS NOT NULL").fetchall()[0][0]
print(json.dumps({"spans": spans, "drops": drops}))
