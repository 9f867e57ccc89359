"""Asks the questions of docs/fleet.md of Spark, DuckDB and ada, and times them: ADA WORK FLEET.MD MASTER.

WORK/sessions has folders NUMBER-HOST with a session in each."""

import json
import pathlib
import re
import resource
import subprocess
import sys
import time

import duckdb
from pyspark.sql import SparkSession

ada, work, questions, master = sys.argv[1:]
work = pathlib.Path(work)
TABLES = ["spans", "functions", "findings", "sessions"]
wrong = 0


def said(words):
    print(words, flush=True)


# The questions as they are documented: for Spark and DuckDB, and for ada where that differs.
asked = []
for section in pathlib.Path(questions).read_text().split("\n### ")[1:]:
    title, text = section.split("\n", 1)
    blocks = [re.sub(r"^--.*\n", "", block) for block in re.findall(r"```sql\n(.*?)```", text, re.S)]
    asked.append((title.strip(), blocks[0], blocks[-1]))

# Where each session comes from, by its own manifest.
sessions, origin = [], []
for folder in sorted((work / "sessions").iterdir()):
    (session,) = folder.glob("session_*")
    # Sessions of several folders can have one name: these are unique, so that ada need not tell them apart.
    session = session.rename(session.with_name("session_" + folder.name))
    (manifest,) = [json.loads(path.read_text()) for path in session.glob("pid_*/manifest.json")]
    host = folder.name.split("-")[1]
    version = manifest["modules"][0]["build_id"]
    sessions.append((session, host))
    origin.append((session.name, "shop", version, host, manifest["epoch_unix_ns"]))


def export(dataset, some):
    """Adds sessions to a dataset. Returns how long that took, the processor time of ada, and what it printed."""
    before, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = ""
    for session, host in some:
        command = [ada, "export", "--to", "parquet", "--append", "--host", host, str(dataset), str(session)]
        printed += subprocess.check_output(command, text=True)
    took, after = time.monotonic() - before, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime, printed


def rows_of(found):
    def plain(value):
        return float(value) if isinstance(value, float) else int(value) if hasattr(value, "as_tuple") else value

    return [tuple(plain(value) for value in row) for row in found]


def by_ada(where, sql):
    command = [ada, "query", *map(str, where), sql, "--format", "json", "--max-rows", "100000"]
    return rows_of(row.values() for row in json.loads(subprocess.check_output(command)))


def by_sessions(sql):
    """The same question of the sessions themselves: what folders of the dataset say comes from the manifests."""
    values = ", ".join(str(row) for row in origin)
    columns = "session, service, version, host, epoch_unix_ns"
    begin = f"WITH origin({columns}) AS (VALUES {values}), "
    given = "SELECT *, session AS start FROM origin"
    sql = re.sub(r"\bJOIN sessions\b", f"JOIN ({given}) AS sessions", sql)
    sql = re.sub(r"\bFROM sessions\b", f"FROM ({given}) AS sessions", sql)
    joined = "SELECT {0}.*, service, version, host, {0}.session AS start FROM {0} JOIN origin USING (session)"
    for table in ["spans", "functions", "findings"]:
        sql = re.sub(rf"\bFROM {table}\b", f"FROM ({joined.format(table)}) AS {table}", sql)
    sql = sql.strip()
    sql = begin + sql.removeprefix("WITH ") if sql.startswith("WITH ") else begin.rstrip(", ") + " " + sql
    return by_ada([session for session, _ in sessions], sql)


said("exports, one session after the other:")
datasets = {}
for count in [1, 10, 40]:
    dataset = work / f"fleet{count}"
    datasets[count] = dataset
    took, processor, printed = export(dataset, sessions[:count])
    rows = sum(int(re.sub(r"\D", "", row)) for row in re.findall(r": ([^:]+) rows", printed))
    size = sum(path.stat().st_size for path in dataset.rglob("*.parquet"))
    files = sum(1 for _ in dataset.rglob("*.parquet"))
    said(
        f"  {count:2} sessions: {rows:>10,} rows, {size / 1e6:6.1f} MB, {files:4} files, {took:6.2f} s, processor {processor:6.2f} s,"
        f" {rows / processor:>10,.0f} rows/s of processor time, {processor / count:.2f} s a session"
    )
_, _, again = export(datasets[40], sessions[:2])
wrong += again.count("was there already") != 2
said(f"  again: {again.count('was there already')} of 2 were there already")
wrong += (datasets[40] / "_aside").exists()

builder = SparkSession.builder.master(master).appName("ada").config("spark.executor.memory", "768m")
builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
spark.range(1000).repartition(4).count()
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
wrong += executors != 2
said(f"Spark {spark.version} with {executors} executors, DuckDB {duckdb.__version__}")

for count, dataset in datasets.items():
    for table in TABLES:
        spark.read.parquet(f"{dataset}/{table}").createOrReplaceTempView(table)
        files = f"read_parquet('{dataset}/{table}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
        duckdb.sql(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM {files}")
    said(f"questions to {count} sessions:")
    total = {"Spark": 0.0, "DuckDB": 0.0, "ada": 0.0}
    for title, sql, sql_of_ada in asked:
        answers = {}
        for name, ask in [
            ("Spark", lambda: rows_of(spark.sql(sql).collect())),
            ("DuckDB", lambda: rows_of(duckdb.sql(sql).fetchall())),
            ("ada", lambda: by_ada([dataset], sql_of_ada)),
        ]:
            best = None
            for _ in range(3):
                before = time.monotonic()
                answers[name] = ask()
                took = time.monotonic() - before
                best = took if best is None else min(best, took)
            total[name] += best
        if count == 40:
            answers["ada on the sessions"] = by_sessions(sql_of_ada)
        equal = all(answer == answers["Spark"] for answer in answers.values())
        wrong += not equal
        said(f"  {title}: {len(answers['Spark'])} rows, {'equal by ' + ', '.join(answers) if equal else 'DIFFERENT'}")
        if not equal:
            for name, answer in answers.items():
                said(f"    {name}: {answer[:4]}")
        if count == 40:
            for row in answers["Spark"][:3]:
                said(f"    {row}")
            if title.startswith("What changed"):
                named = answers["Spark"][0][0]
                wrong += named != "look_up"
                said(f"  the regression is named: {named}")
            if title.startswith("Which hosts"):
                leaking = {row[2] for row in answers["Spark"] if row[0] == "leak"}
                wrong += leaking != {"web3"}
                said(f"  hosts that leak: {sorted(leaking)}")
    said("  all four, the best of three each: " + ", ".join(f"{name} {took:.2f} s" for name, took in total.items()))
spark.stop()
said("all answers are equal" if not wrong else f"{wrong} things are wrong")
sys.exit(1 if wrong else 0)
