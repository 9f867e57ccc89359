"""Counts and sums by Spark, beside those of `ada query`: ADA SESSION TABLES MASTER."""

import json
import subprocess
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

ada, session, tables, master = sys.argv[1:]


def asked(sql):
    rows = json.loads(subprocess.check_output([ada, "query", session, sql, "--format", "json"]))
    return [tuple(row.values()) for row in rows]


spark = SparkSession.builder.master(master).appName("ada").config("spark.executor.memory", "768m").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
# Both workers have to be there before the cluster is said to work.
executors = lambda: spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
spark.range(1000).repartition(4).count()
print(f"Spark {spark.version}, {executors()} executors")
wrong = 0
for table in [
    "spans", "events", "functions", "modules", "threads", "processes", "hooks", "drops", "windows", "details", "links",
]:
    found = spark.read.parquet(f"{tables}/{table}").count()
    expected = asked(f"SELECT count(*) FROM {table}")[0][0]
    wrong += found != expected
    print(f"{table:10} {found:>12} rows by Spark {expected:>12} by ada query")
spans = spark.read.parquet(f"{tables}/spans")
by_name = spans.groupBy("name").agg(f.count("*"), f.sum("duration_ns"), f.sum("self_ns"))
found = sorted((tuple(row) for row in by_name.collect()), key=str)
expected = sorted(asked("SELECT name, count(*), sum(duration_ns), sum(self_ns) FROM spans GROUP BY name"), key=str)
wrong += found != expected
print(f"spans by name: {len(found)} groups by Spark, {len(expected)} by ada query, {'equal' if found == expected else 'different'}")
spark.stop()
sys.exit(1 if wrong else 0)
