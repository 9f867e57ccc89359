"""Times GROUP BY by ada and by DuckDB on the same rows, in turn.

group_by.py ADA SESSION PARQUET [ROUNDS]: PARQUET is what `ada export SESSION --to parquet --table spans --table events`
made. ada's time is that of a whole `ada query`, from its start to its end; DuckDB's that of the question alone, in a
process that has begun. Prints a line for each question, and ends with 1 if any takes ada more than twice DuckDB's time,
or if the two do not agree on how many groups there are.
"""

import os
import statistics
import subprocess
import sys
import time

import duckdb

QUESTIONS = """
SELECT name, count(*), sum(duration_ns) FROM spans GROUP BY name
SELECT thread_id, status, count(*) FROM spans GROUP BY thread_id, status
SELECT name, depth, count(*), avg(duration_ns) FROM spans GROUP BY name, depth
SELECT module, count(*), min(duration_ns), max(duration_ns) FROM spans GROUP BY module
SELECT depth, count(*), avg(self_ns) FROM spans GROUP BY depth
SELECT duration_ns, count(*) FROM spans GROUP BY duration_ns ORDER BY count(*) DESC, duration_ns LIMIT 10
SELECT start_ns, count(*) FROM spans GROUP BY start_ns ORDER BY count(*) DESC, start_ns LIMIT 10
SELECT name, count(*) FROM spans WHERE duration_ns > 1000 GROUP BY name
SELECT kind, count(*) FROM events GROUP BY kind
SELECT name, count(*) FROM events GROUP BY name
SELECT name, kind, count(*) FROM events GROUP BY name, kind
SELECT thread_id, kind, count(*), min(time_ns), max(time_ns) FROM events GROUP BY thread_id, kind
SELECT name, depth, count(*) FROM events GROUP BY name, depth
SELECT depth, count(*) FROM events WHERE kind = 'call' GROUP BY depth
SELECT name, count(*), avg(depth) FROM events WHERE time_ns > 100000000 GROUP BY name
SELECT time_ns, count(*) FROM events GROUP BY time_ns ORDER BY count(*) DESC, time_ns LIMIT 10
""".strip().splitlines()

ada, session, folder = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
connection = duckdb.connect()
connection.execute(f"SET threads={os.cpu_count()}")
for table in ("spans", "events"):
    files = f"{folder}/{table}/*/*/*.parquet"
    connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', hive_partitioning=true)")


def by_ada(question):
    begun = time.monotonic()
    answer = subprocess.run([ada, "query", session, question, "--format", "csv"], capture_output=True, text=True)
    seconds = time.monotonic() - begun
    if answer.returncode != 0:
        return seconds, answer.stderr.strip()
    return seconds, answer.stdout.count("\n") - 1


def by_duckdb(question):
    begun = time.monotonic()
    rows = connection.execute(question).fetchall()
    return time.monotonic() - begun, len(rows)


load = os.getloadavg()
print(f"DuckDB {duckdb.__version__}; {os.cpu_count()} processors; load averages at the start: {load}; median of {rounds}")
print(f"{'ada, s':>9} {'DuckDB, s':>10} {'ratio':>6} {'groups':>8}  question")
is_good = True
for question in QUESTIONS:
    times = {by_ada: [], by_duckdb: []}
    counts = {}
    for _ in range(rounds):
        for way, seconds in times.items():
            taken, counts[way] = way(question)
            seconds.append(taken)
    own, other = statistics.median(times[by_ada]), statistics.median(times[by_duckdb])
    is_good &= own <= 2 * other and counts[by_ada] == counts[by_duckdb]
    groups = counts[by_ada] if counts[by_ada] == counts[by_duckdb] else counts
    print(f"{own:9.3f} {other:10.3f} {own / other:6.2f} {groups!s:>8}  {question}", flush=True)
sys.exit(0 if is_good else 1)
