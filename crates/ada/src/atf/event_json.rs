//! An event as a JSON object. Numbers that can need more than 53 bits are strings: many readers lose the rest.

use std::io::{self, Write};

use ada_format::atf::{Arm64Frame, Payload, X86Call, X86Return};
use serde::Serialize;
use serde_json::{Map, Value};

use super::event_line::EventLine;

#[derive(Serialize)]
struct EventJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    thread: u32,
    seq: u64,
    time_ns: u64,
    kind: String,
    function: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Value>,
}

/// The object and the end of the line.
pub(super) fn write(out: &mut impl Write, line: &EventLine<'_>) -> io::Result<()> {
    let event = &line.merged.event;
    let json = EventJson {
        pid: line.pid.map(|pid| pid.0),
        thread: line.thread.id().0,
        seq: line.merged.seq.0,
        time_ns: event.timestamp.0,
        kind: event.kind.to_string(),
        function: event.function.to_string(),
        name: line.name.map(str::to_owned),
        depth: event.depth,
        detail: line.detail.as_ref().map(|(_, payload)| detail(payload)),
    };
    serde_json::to_writer(&mut *out, &json)?;
    out.write_all(b"\n")
}

/// Registers and stack as an object; of an imported event, its attributes.
pub(crate) fn detail(payload: &Payload<'_>) -> Value {
    match payload {
        Payload::X86Call(call) => x86_call(call),
        Payload::X86Return(back) => x86_return(back),
        Payload::Arm64Call(frame) | Payload::Arm64Return(frame) => arm64(frame),
        Payload::Unknown { kind, bytes } if kind.0 == crate::heph::HEPH_PACKET => crate::heph::attributes(bytes),
        Payload::Unknown { kind, bytes } => serde_json::json!({ "type": kind.0, "bytes": hex_bytes(bytes) }),
        _ => Value::Null,
    }
}

fn x86_call(call: &X86Call<'_>) -> Value {
    let X86Call { rdi, rsi, rdx, rcx, r8, r9, rax, rbp, rsp, .. } = *call;
    let names = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "rbp", "rsp", "return_address"];
    let mut json = registers(&names, &[rdi, rsi, rdx, rcx, r8, r9, rax, rbp, rsp, call.return_address.0]);
    json.extend(call.vectors.iter().flatten().enumerate().map(|(n, value)| (format!("xmm{n}"), hex(value))));
    json.extend(registers(&["r10", "r12", "r13", "r14"], call.context.as_ref().map_or(&[], |values| &values[..])));
    json.extend(call.probes.map(|probes| ("probes".to_owned(), probes.values().map(hex).collect())));
    with_stack(json, call.stack)
}

fn x86_return(back: &X86Return<'_>) -> Value {
    let names = ["rax", "rdx", "rbp", "rsp", "return_address"];
    let mut json = registers(&names, &[back.rax, back.rdx, back.rbp, back.rsp, back.return_address.0]);
    json.extend(back.vectors.iter().flatten().enumerate().map(|(n, value)| (format!("xmm{n}"), hex(value))));
    json.extend(registers(&["rcx", "r8", "r12", "r13"], back.context.as_ref().map_or(&[], |values| &values[..])));
    json.extend(back.probes.map(|probes| ("probes".to_owned(), probes.values().map(hex).collect())));
    with_stack(json, back.stack)
}

fn arm64(frame: &Arm64Frame<'_>) -> Value {
    let mut json = registers(&["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"], &frame.x);
    json.extend(registers(&["lr", "fp", "sp"], &[frame.lr.0, frame.fp, frame.sp]));
    with_stack(json, frame.stack)
}

fn registers(names: &[&str], values: &[u64]) -> Map<String, Value> {
    names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), hex(value))).collect()
}

fn with_stack(mut json: Map<String, Value>, stack: &[u8]) -> Value {
    if !stack.is_empty() {
        json.insert("stack".into(), hex_bytes(stack));
    }
    Value::Object(json)
}

fn hex(value: impl std::fmt::LowerHex) -> Value {
    Value::String(format!("{value:#x}"))
}

fn hex_bytes(bytes: &[u8]) -> Value {
    Value::String(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
