"""Checks a speedscope file against the schema that the npm package carries, and that its events nest."""

import collections
import json
import sys

import jsonschema

with open(sys.argv[1]) as file:
    document = json.load(file)
with open(sys.argv[2]) as file:
    schema = json.load(file)
jsonschema.validate(document, schema)

frames = document["shared"]["frames"]
counts = collections.Counter()
for profile in document["profiles"]:
    stack, last = [], profile["startValue"]
    for event in profile["events"]:
        assert last <= event["at"] <= profile["endValue"], "events are in order, within the profile"
        last = event["at"]
        assert 0 <= event["frame"] < len(frames)
        if event["type"] == "O":
            stack.append(event["frame"])
            counts["file" in frames[event["frame"]]] += 1
        else:
            assert stack.pop() == event["frame"], "the newest open call closes first"
    assert not stack, "each call closes"
print(json.dumps({"calls": counts[True], "logical": counts[False], "names": sorted({frame["name"] for frame in frames})}))
