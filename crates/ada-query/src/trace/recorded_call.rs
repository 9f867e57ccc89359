//! Calls with their values, as a session has them.

use ada_event::{EventSeq, FunctionId};
use ada_format::atf::{HeldRecord, Payload, ThreadTrace};
use ada_span::ThreadIndex;

use super::call_signature::CallSignature;
use super::call_values::CallValues;
use super::{Trace, TraceProcess};

/// Which functions' values are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those whose values were captured on purpose.
    Captured,
    /// Those too whose types are known, and whose registers were recorded.
    Recorded,
}

impl CallValues {
    /// The values of the call that an event of a thread opens, and another closes, if one does.
    pub fn of(
        trace: &Trace,
        process: &TraceProcess,
        function: FunctionId,
        thread: ThreadIndex,
        (open, close): (EventSeq, Option<EventSeq>),
        wanted: Wanted,
    ) -> Option<Self> {
        let captured = process.signatures().get(&function);
        let known = match wanted {
            Wanted::Recorded if captured.is_none() => CallSignature::known(&process.names, function),
            _ => None,
        };
        let signature = captured.or(known.as_ref())?;
        let thread = trace.recorded(process).threads.get(thread.as_usize())?;
        let opened = record(thread, open)?;
        let Ok(Payload::X86Call(call)) = opened.payload() else { return None };
        let mut values = signature.call(&process.names, &call);
        let closed = close.and_then(|close| record(thread, close));
        if let Some(Ok(Payload::X86Return(back))) = closed.as_ref().map(|it| it.payload()) {
            signature.returned(&process.names, &mut values, &back);
        }
        Some(values)
    }
}

/// The detail of an event.
fn record(thread: &ThreadTrace, seq: EventSeq) -> Option<HeldRecord<'_>> {
    let event = thread.index().event(seq)?;
    event.detail.get()?;
    thread.detail()?.record(event.detail)
}
