"""Checks a processed profile of Firefox Profiler by the rules of its format version: tables, indexes, samples."""

import collections
import json
import sys

with open(sys.argv[1]) as file:
    profile = json.load(file)
meta = profile["meta"]
assert meta["preprocessedProfileVersion"] == 48
for key, kind in (("startTime", (int, float)), ("interval", (int, float)), ("product", str), ("stackwalk", int),
                  ("processType", int), ("categories", list), ("markerSchema", list), ("version", int)):
    assert isinstance(meta[key], kind), key
assert any(category["color"] == "grey" for category in meta["categories"]), "the default category is grey"
assert all(category["subcategories"] for category in meta["categories"])
schemas = {schema["name"]: {field["key"] for field in schema["data"]} for schema in meta["markerSchema"]}
for schema in meta["markerSchema"]:
    assert set(schema["display"]) <= {"marker-chart", "marker-table", "timeline-overview", "timeline-memory",
                                      "timeline-ipc", "timeline-fileio", "stack-chart"}

COLUMNS = {
    "stackTable": ["prefix", "frame", "category", "subcategory"],
    "frameTable": ["address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID",
                   "implementation", "line", "column"],
    "funcTable": ["isJS", "relevantForJS", "name", "resource", "fileName", "lineNumber", "columnNumber"],
    "resourceTable": ["lib", "name", "host", "type"],
    "nativeSymbols": ["libIndex", "address", "name", "functionSize"],
    "samples": ["stack", "time", "weight"],
    "markers": ["data", "name", "startTime", "endTime", "phase", "category"],
}
samples, markers, statuses = 0, collections.Counter(), collections.Counter()
weight = 0.0
for thread in profile["threads"]:
    assert isinstance(thread["pid"], str) and isinstance(thread["isMainThread"], bool)
    for key in ("processType", "processStartupTime", "registerTime", "pausedRanges", "name", "tid", "stringArray"):
        assert key in thread, key
    for table, columns in COLUMNS.items():
        for column in columns:
            assert len(thread[table][column]) == thread[table]["length"], (table, column)
    strings, stacks = thread["stringArray"], thread["stackTable"]
    assert len(set(strings)) == len(strings), "each text is there once"
    for place, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or 0 <= prefix < place, "callers come before those they call"
    assert all(0 <= frame < thread["frameTable"]["length"] for frame in stacks["frame"])
    assert all(0 <= func < thread["funcTable"]["length"] for func in thread["frameTable"]["func"])
    assert all(0 <= name < len(strings) for name in thread["funcTable"]["name"])
    assert all(-1 <= it < thread["resourceTable"]["length"] for it in thread["funcTable"]["resource"])
    assert all(0 <= name < len(strings) for name in thread["resourceTable"]["name"])
    times = thread["samples"]["time"]
    assert all(one <= other for one, other in zip(times, times[1:])), "samples are in the order of time"
    assert all(stack is None or 0 <= stack < stacks["length"] for stack in thread["samples"]["stack"])
    assert thread["samples"]["weightType"] == "tracing-ms" and all(it >= 0 for it in thread["samples"]["weight"])
    samples += thread["samples"]["length"]
    weight += sum(it for it, stack in zip(thread["samples"]["weight"], thread["samples"]["stack"]) if stack is not None)
    for data, name, start, end, phase in zip(*(thread["markers"][it] for it in ("data", "name", "startTime", "endTime", "phase"))):
        assert phase == 1 and end >= start and 0 <= name < len(strings)
        assert set(data) - {"type"} <= schemas[data["type"]], set(data) - schemas[data["type"]]
        markers[data["type"]] += 1
        statuses[data["status"]] += data["type"] == "AdaCall" and data["status"] != "completed"
print(json.dumps({"samples": samples, "markers": markers, "weight_ns": round(weight * 1e6), "statuses": +statuses,
                  "threads": len(profile["threads"])}))
