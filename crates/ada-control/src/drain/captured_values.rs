//! The values of a call, as they come out of the rings.

use ada_format::atf::{Payload, Probes};
use ada_value::{Captured, Outcome, Signature, Value};

/// What a call was given; nothing where its types are not known, or nothing was captured.
pub(super) fn arguments(signature: Option<&Signature>, payload: Option<&Payload<'_>>) -> Vec<Value> {
    let (Some(signature), Some(Payload::X86Call(call))) = (signature, payload) else { return Vec::new() };
    signature.arguments(&Captured { registers: &call.arguments(), vectors: &[], words: &words(call.probes) })
}

/// What it gave back, likewise.
pub(super) fn outcome(signature: Option<&Signature>, payload: Option<&Payload<'_>>) -> Option<Outcome> {
    let (Some(signature), Some(Payload::X86Return(back))) = (signature, payload) else { return None };
    let registers = [back.rax, back.rdx];
    Some(signature.outcome(&Captured { registers: &registers, vectors: &[], words: &words(back.probes) }))
}

fn words(probes: Option<Probes<'_>>) -> Vec<u64> {
    probes.map_or(Vec::new(), |probes| probes.values().collect())
}
