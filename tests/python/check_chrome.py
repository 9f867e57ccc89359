"""Checks a Chrome trace against a schema of the trace event format and that the calls of each thread nest."""

import collections
import decimal
import json
import sys

import jsonschema

NUMBER = {"type": "number", "minimum": 0}
BASE = {
    "name": {"type": "string"}, "cat": {"type": "string"}, "ph": {"type": "string"}, "ts": NUMBER,
    "pid": {"type": "integer"}, "tid": {"type": "integer"}, "args": {"type": "object"},
}


def phase(letter, required=(), **more):
    return {
        "properties": {**BASE, "ph": {"const": letter}, **more},
        "required": ["name", "cat", "ph", "ts", "pid", "tid", *required],
        "additionalProperties": False,
    }


IDENTITY = {"type": ["string", "integer"]}
EVENTS = {
    "X": phase("X", ["dur"], dur=NUMBER),
    "M": phase("M", ["args"], name={"enum": ["process_name", "thread_name"]}),
    "b": phase("b", ["id"], id=IDENTITY),
    "e": phase("e", ["id"], id=IDENTITY),
    "s": phase("s", ["id"], id=IDENTITY),
    "f": phase("f", ["id", "bp"], id=IDENTITY, bp={"const": "e"}),
}
DOCUMENT = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {"type": "array"},
    },
    "additionalProperties": False,
}

with open(sys.argv[1]) as file:
    text = file.read()
trace = json.loads(text)
jsonschema.validate(trace, DOCUMENT)
validators = {letter: jsonschema.Draft202012Validator(schema) for letter, schema in EVENTS.items()}
for event in trace["traceEvents"]:
    validators[event["ph"]].validate(event)
exact = json.loads(text, parse_float=decimal.Decimal)["traceEvents"]

threads = collections.defaultdict(list)
statuses, flows = collections.Counter(), collections.defaultdict(list)
nested, logical, parts, arguments = collections.defaultdict(list), 0, 0, 0
for event in exact:
    if event["ph"] == "X":
        threads[event["pid"], event["tid"]].append(event)
        statuses[event.get("args", {}).get("status", "completed")] += 1
        arguments += "rdi" in event.get("args", {})
    elif event["ph"] in "be":
        stack = nested[event["cat"], event["id"]]
        if event["ph"] == "b":
            is_part = event["args"].get("part", False)
            assert is_part == bool(stack), "parts lie in their spans"
            parts += is_part
            logical += not is_part
            stack.append(event["name"])
        else:
            assert stack.pop() == event["name"]
    elif event["ph"] in "sf":
        flows[event["id"]].append(event["ph"])
assert not any(nested.values())
assert all(sorted(ends) == ["f", "s"] for ends in flows.values())

calls = 0
for events in threads.values():
    # Outer calls come first in the file; a viewer sorts by time and keeps that order.
    stack = []
    last = 0
    for event in events:
        start, end = event["ts"], event["ts"] + event["dur"]
        assert start >= last, "calls are in the order of their starts"
        last = start
        while stack and stack[-1] <= start and stack[-1] < end:
            stack.pop()
        assert not stack or end <= stack[-1], "a call lies in the one that encloses it"
        stack.append(end)
        calls += 1
print(json.dumps({
    "calls": calls, "logical": logical, "parts": parts, "flows": len(flows), "statuses": statuses, "arguments": arguments,
    "total_ns": int(sum(event["dur"] for events in threads.values() for event in events) * 1000),
}))
