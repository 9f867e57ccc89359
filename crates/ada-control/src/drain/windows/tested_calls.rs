//! Triggers that ask for values: which calls and returns of a batch have them.

use std::collections::HashMap;
use std::sync::Arc;

use ada_event::FunctionId;
use ada_ring::{RawRecord, RecordKind};
use ada_value::{Signature, Value, ValueTest, find_value};

use crate::drain::captured_values;
use crate::drain::detail_lane::ThreadDetails;
use crate::drain::own_stack::OwnStack;
use crate::trigger::Trigger;

/// A function whose values are tested.
pub(super) struct TestedFunction {
    /// What is captured of it; nothing where its types are not known.
    pub(super) signature: Option<Arc<Signature>>,
    /// The triggers' numbers, from 1.
    pub(super) triggers: Vec<u8>,
}

/// What a thread's tested calls that have not returned were called with.
#[derive(Default)]
pub(crate) struct OpenValues {
    calls: Vec<OpenCall>,
    pub(in crate::drain) own_stack: OwnStack,
}

struct OpenCall {
    stack: u32,
    depth: u32,
    function: u32,
    arguments: Vec<Value>,
}

/// The records of a batch that fire, by their numbers, with the numbers of the triggers.
pub(super) fn fired(
    batch: &[RawRecord],
    details: &mut ThreadDetails,
    functions: &HashMap<u32, TestedFunction>,
    triggers: &[Trigger],
    open: &mut OpenValues,
) -> HashMap<usize, u8> {
    let mut fired = HashMap::new();
    if functions.is_empty() {
        return fired;
    }
    for (number, record) in batch.iter().enumerate() {
        if record.kind() == RecordKind::Stack {
            continue;
        }
        let Some(function) = functions.get(&record.function) else { continue };
        let captured = if record.is_probed() { details.take(record.tsc) } else { None };
        let payload = captured.map(|captured| captured.probe_payload(FunctionId::default()));
        let is_call = matches!(record.kind(), RecordKind::Call | RecordKind::EntryOnly);
        let (arguments, outcome) = if is_call {
            let arguments = captured_values::arguments(function.signature.as_deref(), payload.as_ref());
            open.push(record, arguments.clone());
            (arguments, None)
        } else {
            let (mut arguments, outcome) =
                (open.pop(record), captured_values::outcome(function.signature.as_deref(), payload.as_ref()));
            for (number, value) in outcome.iter().flat_map(|outcome| &outcome.written) {
                arguments.get_mut(*number).into_iter().for_each(|argument| *argument = value.clone());
            }
            (arguments, outcome)
        };
        let holds = |test: &ValueTest| {
            let Some(signature) = &function.signature else { return false };
            let names = signature.prototype().parameters.iter().map(|it| it.name.as_str());
            let result = outcome.as_ref().and_then(|it| it.value.as_ref());
            let error =
                outcome.as_ref().and_then(|it| it.error.as_ref()).map(|(number, name)| (*number, name.as_str()));
            test.holds(&|name| find_value(names.clone().zip(&arguments), result, error, name))
        };
        let is_fired = |trigger: &&u8| match triggers.get(usize::from(**trigger).wrapping_sub(1)) {
            Some(Trigger::Values { is_return, when, .. }) => *is_return != is_call && when.as_ref().is_none_or(holds),
            _ => false,
        };
        if let Some(trigger) = function.triggers.iter().find(is_fired) {
            fired.insert(number, *trigger);
        }
    }
    fired
}

impl OpenValues {
    fn push(&mut self, record: &RawRecord, arguments: Vec<Value>) {
        let (stack, depth) = (self.own_stack.stack_of(record), record.depth());
        self.calls.retain(|call| call.stack != stack || call.depth < depth);
        if record.kind() == RecordKind::Call {
            self.calls.push(OpenCall { stack, depth, function: record.function, arguments });
        }
    }

    /// What the call that ends was called with.
    fn pop(&mut self, record: &RawRecord) -> Vec<Value> {
        let (stack, depth) = (self.own_stack.stack_of(record), record.depth());
        let is_it = |call: &OpenCall| (call.stack, call.depth, call.function) == (stack, depth, record.function);
        let ended = self.calls.iter().rposition(is_it).map(|at| self.calls.remove(at).arguments);
        self.calls.retain(|call| call.stack != stack || call.depth < depth);
        ended.unwrap_or_default()
    }
}
