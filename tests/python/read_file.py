"""Rows, a sum and the columns of one Parquet file: FILE."""

import json
import sys

import pandas

frame = pandas.read_parquet(sys.argv[1])
print(json.dumps({"count": len(frame), "calls": int(frame["calls"].sum()), "columns": list(frame.columns)}))
