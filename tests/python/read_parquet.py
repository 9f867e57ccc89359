"""Counts and sums of an export, by DuckDB and by pandas: FOLDER."""

import json
import pathlib
import sys

import duckdb
import pandas

folder = pathlib.Path(sys.argv[1])
tables = sorted(path.name for path in folder.iterdir())
sums = {"spans": [("duration_ns", "sum"), ("self_ns", "sum")], "events": [("time_ns", "max")], "functions": [("calls", "sum")]}
by_name = "SELECT name, count(*), sum(duration_ns)::BIGINT FROM '{}/spans/**/*.parquet' GROUP BY name ORDER BY name"

read = {"duckdb": {}, "pandas": {}}
for table in tables:
    source = f"'{folder}/{table}/**/*.parquet'"
    found = {"count": duckdb.sql(f"SELECT count(*) FROM {source}").fetchall()[0][0]}
    for column, how in sums.get(table, []):
        found[column] = int(duckdb.sql(f"SELECT {how}({column}) FROM {source}").fetchall()[0][0])
    read["duckdb"][table] = found
    frame = pandas.read_parquet(folder / table)
    assert {"session", "pid"} <= set(frame.columns), table
    found = {"count": len(frame)}
    for column, how in sums.get(table, []):
        found[column] = int(getattr(frame[column], how)())
    read["pandas"][table] = found

rows = duckdb.sql(by_name.format(folder)).fetchall()
read["duckdb"]["by_name"] = sorted([name, count, total] for name, count, total in rows)
spans = pandas.read_parquet(folder / "spans")
grouped = spans.groupby("name")["duration_ns"].agg(["count", "sum"])
read["pandas"]["by_name"] = sorted([name, int(row["count"]), int(row["sum"])] for name, row in grouped.iterrows())
print(json.dumps(read))
