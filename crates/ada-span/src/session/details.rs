//! The detail of a thread's events, as a session's files have it.

use ada_event::{DetailSeq, FunctionId};
use ada_format::atf::{DetailRecord, HeldRecords, Payload, Probes, ThreadDetail, ThreadTrace};

use crate::detail::{DetailSource, EventDetail};

/// Detail records between two releases of their pages.
const RELEASE_EVERY: u32 = 1 << 15;

pub(super) struct SessionDetails<'a> {
    thread: &'a ThreadTrace,
    view: ThreadDetail<'a>,
    /// Records in the order of the file, the next one of which is `next` unless some cannot be read.
    ahead: HeldRecords<'a>,
    next: u32,
}

impl<'a> SessionDetails<'a> {
    /// The details of a thread that has some.
    pub(super) fn of(thread: &'a ThreadTrace) -> Option<Self> {
        let view = thread.detail().filter(|view| !view.is_empty())?;
        Some(Self { thread, ahead: view.records(), view, next: 0 })
    }
}

impl DetailSource for SessionDetails<'_> {
    fn detail(&mut self, seq: DetailSeq) -> Option<EventDetail> {
        let wanted = seq.get()?;
        // Events link to records in the order of both files, and nobody asks for all of them.
        const FAR: u32 = 64;
        let record = if wanted >= self.next && wanted - self.next < FAR {
            while self.next < wanted {
                self.next += 1;
                self.ahead.next()?.ok()?;
            }
            self.next += 1;
            match self.ahead.next()?.ok()? {
                record if record.position() == u64::from(wanted) => record,
                behind => {
                    self.next = u32::try_from(behind.position() + 1).ok()?;
                    self.view.record(seq)?
                }
            }
        } else {
            self.view.record(seq)?
        };
        let detail = to_detail(&record.get());
        if wanted % RELEASE_EVERY == RELEASE_EVERY - 1 {
            self.thread.release();
        }
        detail
    }

    fn count(&self) -> u64 {
        self.view.len()
    }

    fn all_arguments(&self, each: &mut dyn FnMut(FunctionId, &[u64])) {
        for (record, number) in self.view.records().map_while(Result::ok).zip(1_u32..) {
            // Callbacks are looked for in x86-64 traces only.
            if let Ok(Payload::X86Call(call)) = record.payload() {
                each(call.function, &call.arguments());
                if call.probes.is_some() {
                    each(call.function, &words(call.probes));
                }
            }
            if number.is_multiple_of(RELEASE_EVERY) {
                self.thread.release();
            }
        }
        self.thread.release();
    }

    fn probed(&self, each: &mut dyn FnMut(FunctionId, bool, &EventDetail)) {
        for (record, number) in self.view.records().map_while(Result::ok).zip(1_u32..) {
            let probed = match record.payload() {
                Ok(Payload::X86Call(call)) if call.probes.is_some() => Some((call.function, false)),
                Ok(Payload::X86Return(back)) if back.probes.is_some() => Some((back.function, true)),
                _ => None,
            };
            if let (Some((function, is_return)), Some(detail)) = (probed, to_detail(&record.get())) {
                each(function, is_return, &detail);
            }
            if number.is_multiple_of(RELEASE_EVERY) {
                self.thread.release();
            }
        }
        self.thread.release();
    }
}

fn words(probes: Option<Probes<'_>>) -> Vec<u64> {
    probes.map_or(Vec::new(), |probes| probes.values().collect())
}

/// What the correlators read of a record, on the architectures that they know.
pub(super) fn to_detail(record: &DetailRecord<'_>) -> Option<EventDetail> {
    match record.payload().ok()? {
        Payload::X86Call(call) => Some(EventDetail { registers: call.arguments(), words: words(call.probes) }),
        Payload::X86Return(back) => {
            Some(EventDetail { registers: [back.rax, back.rdx, 0, 0, 0, 0], words: words(back.probes) })
        }
        Payload::Arm64Call(frame) | Payload::Arm64Return(frame) => {
            Some(EventDetail { registers: *frame.x.first_chunk()?, words: Vec::new() })
        }
        _ => None,
    }
}
