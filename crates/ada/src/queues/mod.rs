//! `ada queues [SESSION]`.

mod usage;

use ada_image::glob;
use serde_json::{Value, json};

use crate::analysis::{ListFormat, Listing, OpenedSession, Out, SessionArgs, csv, nanoseconds, thousands, with_tables};
use crate::exit::Outcome;

use usage::{GroupUse, QueueUse, groups, queues};

const EXAMPLES: &str = "\
Examples:
  ada queues                      dispatch queues: blocks, how long they waited and ran
  ada queues --name 'com.example.*' --format json
  ada spans --runtime gcd         the blocks themselves

The depth is the largest number of blocks that waited at once. Jobs belong to Swift tasks (`ada tasks`).";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Only queues whose label matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

const FIELDS: [&str; 14] = [
    "pid",
    "queue_id",
    "name",
    "address",
    "target",
    "blocks",
    "pending",
    "jobs",
    "latency_p50_ns",
    "latency_p95_ns",
    "latency_p99_ns",
    "running_ns",
    "depth",
    "threads",
];

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let mut queues = queues(opened);
        queues.retain(|queue| args.name.as_ref().is_none_or(|pattern| glob(pattern, &queue.name)));
        let groups = groups(opened);
        let all = || queues.iter().map(|queue| queue_json(opened, queue)).collect::<Vec<Value>>();
        match args.format {
            ListFormat::Table => print(&queues, &groups, out),
            ListFormat::Json => {
                let groups: Vec<Value> = groups.iter().map(|group| group_json(opened, group)).collect();
                out.json(&json!({ "queues": all(), "groups": groups }))
            }
            ListFormat::Csv => csv(out, &FIELDS, &all()),
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

fn print(queues: &[QueueUse], groups: &[GroupUse], out: &mut Out) -> anyhow::Result<()> {
    if queues.is_empty() {
        return out.line("no queue is like that");
    }
    let mut listing = Listing::new(&[
        ">id",
        ">blocks",
        ">pending",
        ">canceled",
        ">jobs",
        ">latency p50",
        ">p95",
        ">p99",
        ">running",
        ">depth",
        ">threads",
        "qos",
        "queue",
    ]);
    for queue in queues {
        let latency = |share: f64| match queue.latencies.is_empty() {
            true => String::new(),
            false => nanoseconds(queue.latency(share)),
        };
        let on = queue.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
        listing.row(vec![
            queue.id.to_string(),
            thousands(queue.blocks),
            thousands(queue.pending),
            thousands(queue.canceled),
            thousands(queue.jobs),
            latency(0.5),
            latency(0.95),
            latency(0.99),
            nanoseconds(queue.running_ns),
            thousands(queue.depth),
            queue.threads.to_string(),
            queue.qos.clone().unwrap_or_default(),
            format!("{}{on}", queue.name),
        ]);
    }
    listing.print(out)?;
    if groups.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let titles = ["group", ">blocks", ">enters", ">leaves", ">notifies", ">waits", ">waited", "state"];
    let mut listing = Listing::new(&titles);
    for GroupUse { entry, .. } in groups {
        listing.row(vec![
            format!("{:#x}", entry.address),
            thousands(entry.blocks),
            thousands(entry.enters),
            thousands(entry.leaves),
            thousands(entry.notifies),
            thousands(entry.waits),
            nanoseconds(entry.wait_ns),
            state(entry.remaining()),
        ]);
    }
    listing.print(out)
}

/// Whether a group became empty.
fn state(remaining: Option<u64>) -> String {
    match remaining {
        Some(0) => "empty".to_owned(),
        Some(remaining) => format!("pending, {remaining} remaining"),
        None => "not known: events are missing".to_owned(),
    }
}

fn queue_json(opened: &OpenedSession, queue: &QueueUse) -> Value {
    json!({
        "pid": opened.processes()[queue.process].pid.0,
        "queue_id": queue.id,
        "name": queue.name,
        "label_cut": queue.is_label_cut,
        "address": format!("{:#x}", queue.address),
        "target": queue.target,
        "blocks": queue.blocks,
        "pending": queue.pending,
        "canceled": queue.canceled,
        "qos": queue.qos,
        "jobs": queue.jobs,
        "latency_p50_ns": queue.latency(0.5),
        "latency_p95_ns": queue.latency(0.95),
        "latency_p99_ns": queue.latency(0.99),
        "running_ns": queue.running_ns,
        "depth": queue.depth,
        "threads": queue.threads,
    })
}

fn group_json(opened: &OpenedSession, group: &GroupUse) -> Value {
    let entry = &group.entry;
    json!({
        "pid": opened.processes()[group.process].pid.0,
        "address": format!("{:#x}", entry.address),
        "blocks": entry.blocks,
        "enters": entry.enters,
        "leaves": entry.leaves,
        "notifies": entry.notifies,
        "waits": entry.waits,
        "wait_ns": entry.wait_ns,
        "left": entry.remaining(),
        "state": match entry.remaining() {
            Some(0) => "empty",
            Some(_) => "pending",
            None => "unknown",
        },
    })
}
