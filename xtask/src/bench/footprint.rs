//! Bytes per event on disk, and memory of ada and of the program.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::child;
use super::memory_line::Memory;
use super::programs::{command, compile};
use super::report::Section;
use super::table::Table;

/// Prints what `bench/calls.c` prints of its memory and its parent's.
const NODE_SCRIPT: &str = "\
const fields = ['VmHWM', 'RssAnon', 'RssFile', 'RssShmem'];
for (const [whose, pid] of [['self', 'self'], ['parent', process.ppid]]) {
  const status = require('fs').readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = name => `${name} ${status.match(new RegExp(`${name}:\\\\s*(\\\\d+)`))[1]}`;
  console.log('memory', whose, fields.map(figure).join(' '));
}";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let bursts = bench.rounds(100, 20).to_string();
    let calls = command([compile(bench, "calls")?.into_os_string(), bursts.into()]);
    let node = command(["/usr/bin/node", "-e", NODE_SCRIPT]);
    let mut bytes = Table::new(&["<program", "<detail", "events", "bytes", "bytes/event"]);
    let mut memory = Table::new(&[
        "<program",
        "<detail",
        "program peak",
        "its own",
        "files",
        "rings",
        "extra peak",
        "ada peak",
        "its own",
        "rings",
    ]);
    let mut data = Vec::new();
    for (name, command) in [("calls", &calls), ("node", &node)] {
        if let Err(error) = measure_one(bench, name, command, &mut bytes, &mut memory, &mut data) {
            memory.sentence(name, &format!("NOT MEASURED: {error:#}"));
        }
    }
    let notes = vec![
        "bytes per event: everything in the session's folder, names and manifest included".to_owned(),
        "memory in MB, resident; rings are shared by ada and the program and counted in both; ada's figures are those \
         of the moment before the program ends"
            .to_owned(),
    ];
    let tables = vec![bytes, memory];
    Ok(Section { title: "Bytes and memory", tables, notes, goals: Vec::new(), data: Value::Array(data) })
}

fn measure_one(
    bench: &Bench,
    name: &str,
    words: &[OsString],
    bytes: &mut Table,
    memory: &mut Table,
    data: &mut Vec<Value>,
) -> anyhow::Result<()> {
    let of = |stdout: &str, whose| Memory::parse(stdout, whose).context("the program does not print its memory");
    let mut plain = Command::new(&words[0]);
    let untraced = child::run(plain.args(&words[1..]), &bench.scratch, true)?.succeeded(name)?;
    let untraced = of(&untraced.stdout, "self")?;
    let megabytes = |kib: u64| format!("{:.1}", kib as f64 * 1024.0 / 1e6);
    let own = |memory: Memory| [memory.peak, memory.anonymous, memory.file, memory.shared].map(megabytes);
    let mut row: Vec<String> = vec![name.into(), "untraced".into()];
    row.extend(own(untraced));
    memory.row(row);
    for detail in ["off", "windows", "all"] {
        let trace = bench.ada.trace(&["--detail".into(), detail.into()], words, true)?;
        let (program, ada) = (of(&trace.finished.stdout, "self")?, of(&trace.finished.stdout, "parent")?);
        let mut row: Vec<String> = vec![name.into(), detail.into()];
        row.extend(own(program));
        row.push(megabytes(program.peak.saturating_sub(untraced.peak)));
        row.extend([ada.peak, ada.anonymous, ada.shared].map(megabytes));
        memory.row(row);
        let (events, size) = (trace.summary.events, trace.bytes_on_disk());
        let per_event = size as f64 / events.max(1) as f64;
        bytes.row(vec![name.into(), detail.into(), events.to_string(), size.to_string(), format!("{per_event:.1}")]);
        data.push(json!({
            "program": name,
            "detail": detail,
            "events": events,
            "bytes": size,
            "program_peak_kib": program.peak,
            "untraced_peak_kib": untraced.peak,
            "ada_peak_kib": ada.peak,
            "ada_own_kib": ada.anonymous,
            "rings_kib": ada.shared,
        }));
    }
    Ok(())
}
