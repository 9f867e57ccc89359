//! An event as a line for people.

use std::io::{self, Write};

use ada_format::atf::{Payload, X86Call, X86Return};

use super::event_line::EventLine;

/// Depth beyond which lines are not indented further: damaged files claim any depth.
const DEEPEST_INDENT: u32 = 60;

/// Seconds since the session's first event, thread, and the event, indented by its depth.
pub(super) fn write(out: &mut impl Write, line: &EventLine<'_>) -> io::Result<()> {
    let event = &line.merged.event;
    let nanos = event.timestamp.since(line.start);
    let indent = 2 * event.depth.min(DEEPEST_INDENT) as usize;
    write!(out, "{:>4}.{:09} ", nanos / 1_000_000_000, nanos % 1_000_000_000)?;
    write!(out, "{:>8}  {:indent$}{} {}", line.thread.id(), "", event.kind, event.function)?;
    if let Some(name) = line.name {
        write!(out, " {name}")?;
    }
    if let Some((record, payload)) = &line.detail {
        match payload {
            Payload::X86Call(call) => write_call(out, call)?,
            Payload::X86Return(back) => write_return(out, back)?,
            Payload::Arm64Call(frame) | Payload::Arm64Return(frame) => {
                for (n, value) in frame.x.iter().enumerate() {
                    write!(out, " x{n}={value:#x}")?;
                }
                write!(out, " lr={} fp={:#x} sp={:#x}", frame.lr, frame.fp, frame.sp)?;
                write_stack(out, frame.stack)?;
            }
            _ => write!(out, " detail of type {} ({} bytes)", record.kind.0, record.bytes.len())?,
        }
    }
    out.write_all(b"\n")
}

fn write_call(out: &mut impl Write, call: &X86Call<'_>) -> io::Result<()> {
    let X86Call { rdi, rsi, rdx, rcx, r8, r9, rax, .. } = call;
    write!(out, " rdi={rdi:#x} rsi={rsi:#x} rdx={rdx:#x} rcx={rcx:#x} r8={r8:#x} r9={r9:#x} rax={rax:#x}")?;
    write!(out, " from={} rbp={:#x} rsp={:#x}", call.return_address, call.rbp, call.rsp)?;
    write_stack(out, call.stack)
}

fn write_return(out: &mut impl Write, back: &X86Return<'_>) -> io::Result<()> {
    write!(out, " rax={:#x} rdx={:#x} to={} rsp={:#x}", back.rax, back.rdx, back.return_address, back.rsp)?;
    write_stack(out, back.stack)
}

fn write_stack(out: &mut impl Write, stack: &[u8]) -> io::Result<()> {
    match stack.len() {
        0 => Ok(()),
        len => write!(out, " stack={len}B"),
    }
}
