"""Decodes a Perfetto trace with the published definitions and prints what it has, having checked that slices nest."""

import collections
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

tracks, names, categories, annotation_names, strings = {}, {}, {}, {}, {}
open_slices = collections.defaultdict(list)
slices = collections.Counter()
statuses = collections.Counter()
flows_from, flows_to = set(), set()
arguments = 0
events = []
processors, runs = {}, 0
for place, packet in enumerate(trace.packet):
    if place == 0:
        assert packet.sequence_flags & 1, "a sequence begins with its state cleared"
    assert packet.trusted_packet_sequence_id == 1
    for message in (packet, packet.track_event, packet.track_descriptor, packet.interned_data):
        assert len(UnknownFieldSet(message)) == 0, "every field is one of the definitions'"
    if packet.HasField("track_descriptor"):
        it = packet.track_descriptor
        assert it.uuid not in tracks, "each track is described once"
        if it.HasField("thread"):
            tracks[it.uuid] = "thread"
        elif it.HasField("process"):
            tracks[it.uuid] = "process"
        else:
            assert tracks[it.parent_uuid] == "process"
            tracks[it.uuid] = it.name
    data = packet.interned_data
    for entries, known in (
        (data.event_names, names),
        (data.event_categories, categories),
        (data.debug_annotation_names, annotation_names),
    ):
        for entry in entries:
            assert entry.iid not in known, "a name is sent once"
            known[entry.iid] = entry.name
    for entry in data.debug_annotation_string_values:
        strings[entry.iid] = entry.str.decode()
    # On each processor a thread runs until it is switched away from.
    bundle = packet.ftrace_events
    assert len(UnknownFieldSet(bundle)) == 0
    for switch in bundle.event:
        it, last = switch.sched_switch, processors.get(bundle.cpu)
        assert len(UnknownFieldSet(switch)) == 0 and len(UnknownFieldSet(it)) == 0
        assert last is None or (last[0] <= switch.timestamp and last[1] == it.prev_pid), (last, switch)
        processors[bundle.cpu] = (switch.timestamp, it.next_pid)
        runs += it.next_pid < 2_000_000_000
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert event.track_uuid in tracks, "an event is on a track that was described before"
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.name_iid in names and all(iid in categories for iid in event.category_iids)
    for annotation in event.debug_annotations:
        name = annotation_names[annotation.name_iid]
        if annotation.HasField("string_value_iid") and name == "status":
            statuses[strings[annotation.string_value_iid]] += 1
        if annotation.HasField("pointer_value"):
            arguments += 1
    flows_from.update(event.flow_ids)
    flows_to.update(event.terminating_flow_ids)
    events.append((packet.timestamp, place, event))

# A viewer sorts by time; those of one time stay as they were.
events.sort(key=lambda it: (it[0], it[1]))
for time, _, event in events:
    stack = open_slices[event.track_uuid]
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(event.name_iid)
        kind = tracks[event.track_uuid]
        is_part = "part" in {categories[iid] for iid in event.category_iids}
        slices["part" if is_part else kind] += 1
    elif event.type == TrackEvent.TYPE_SLICE_END:
        assert stack, "each end has a beginning"
        stack.pop()
assert not any(open_slices.values()), "each beginning has an end"
assert flows_from == flows_to, "each flow has two ends"
print(json.dumps({
    "slices": slices, "statuses": statuses, "flows": len(flows_from), "arguments": arguments,
    "runs": runs, "names": sorted(set(names.values())), "packets": len(trace.packet),
}))
