//! Grand Central Dispatch: libdispatch and the blocks runtime.

use ada_ring::probe::{Base, Read};

use crate::plan::probes::{Probe, Runtime, probe};

/// A queue has its label's address here: the exported `dispatch_queue_offsets` says so in all versions since 2016.
const LABEL: i16 = 0x48;
/// A block's words: its function, its descriptor, and the first thing that it captured, which is the closure's function
/// where Swift made it, and a magic number where libdispatch wraps another block.
const BLOCK: i16 = 0x10;
/// A wrapper's words: the wrapped block, and its group.
const WRAPPED: i16 = 0x48;

const fn label(queue: Base) -> Read {
    Read::through(queue, LABEL, 0, 6)
}

const fn block(base: Base) -> Read {
    Read::words(base, BLOCK, 3)
}

const fn wrapped(base: Base) -> Read {
    Read::words(base, WRAPPED, 2)
}

/// A queue and a block.
const QUEUE_BLOCK: [Read; 3] = [label(Base::Argument1), block(Base::Argument2), wrapped(Base::Argument2)];
/// A group, a time or a count; a queue and a block.
const OTHER_QUEUE_BLOCK: [Read; 3] = [label(Base::Argument2), block(Base::Argument3), wrapped(Base::Argument3)];
/// A queue, and a function with its argument.
const QUEUE: [Read; 1] = [label(Base::Argument1)];
const OTHER_QUEUE: [Read; 1] = [label(Base::Argument2)];

/// The row of functions that are blocks' own: compilers name them, so that they have no name of their own here.
pub(super) const BLOCK_INVOKE: &str = "(a block's function)";

pub(super) const PROBES: &[Probe] = &[
    probe("dispatch_async", &QUEUE_BLOCK, &[]),
    probe("dispatch_sync", &QUEUE_BLOCK, &[]),
    probe("dispatch_barrier_async", &QUEUE_BLOCK, &[]),
    probe("dispatch_barrier_sync", &QUEUE_BLOCK, &[]),
    probe("dispatch_async_and_wait", &QUEUE_BLOCK, &[]),
    probe("dispatch_barrier_async_and_wait", &QUEUE_BLOCK, &[]),
    probe("dispatch_async_f", &QUEUE, &[]),
    probe("dispatch_sync_f", &QUEUE, &[]),
    probe("dispatch_barrier_async_f", &QUEUE, &[]),
    probe("dispatch_barrier_sync_f", &QUEUE, &[]),
    probe("dispatch_async_and_wait_f", &QUEUE, &[]),
    probe("dispatch_barrier_async_and_wait_f", &QUEUE, &[]),
    probe("dispatch_group_async", &OTHER_QUEUE_BLOCK, &[]),
    probe("dispatch_group_notify", &OTHER_QUEUE_BLOCK, &[]),
    probe("dispatch_after", &OTHER_QUEUE_BLOCK, &[]),
    probe("dispatch_apply", &OTHER_QUEUE_BLOCK, &[]),
    probe("dispatch_group_async_f", &OTHER_QUEUE, &[]),
    probe("dispatch_group_notify_f", &OTHER_QUEUE, &[]),
    probe("dispatch_after_f", &OTHER_QUEUE, &[]),
    probe("dispatch_apply_f", &OTHER_QUEUE, &[]),
    probe("dispatch_group_create", &[], &[]),
    probe("dispatch_group_enter", &[], &[]),
    probe("dispatch_group_leave", &[], &[]),
    probe("dispatch_group_wait", &[], &[]),
    // Queues: their labels in full, and the queues that they hand their work to.
    probe("dispatch_queue_create", &[Read::long_text(Base::Argument1)], &[]),
    probe("dispatch_queue_create_with_target", &[Read::long_text(Base::Argument1)], &[]),
    probe("dispatch_queue_create_with_target$V2", &[Read::long_text(Base::Argument1)], &[]),
    probe("dispatch_queue_attr_make_with_qos_class", &[], &[]),
    probe("dispatch_set_target_queue", &[], &[]),
    // Sources: the queue that their handlers run on is the last argument.
    probe("dispatch_source_create", &[label(Base::Argument4)], &[]),
    probe("dispatch_source_set_event_handler", &QUEUE_BLOCK, &[]),
    probe("dispatch_source_set_event_handler_f", &[], &[]),
    // Blocks: a copy on the heap is what runs, and its release shows that it has.
    probe("_Block_copy", &[block(Base::Argument1)], &[]),
    probe("_Block_release", &[], &[]),
    probe("dispatch_block_create", &[], &[block(Base::Result), wrapped(Base::Result)]),
    probe("dispatch_block_create_with_qos_class", &[], &[block(Base::Result), wrapped(Base::Result)]),
    probe("_dispatch_block_create", &[], &[block(Base::Result), wrapped(Base::Result)]),
    probe("dispatch_block_cancel", &[], &[]),
    probe(BLOCK_INVOKE, &[], &[]),
];

pub(super) const RUNTIME: Runtime = Runtime {
    name: "Grand Central Dispatch",
    marks: &["dispatch_async", "dispatch_async_f", "dispatch_group_leave"],
    vital: &["_Block_copy", "_Block_release"],
    needs: &[
        (&["dispatch_async"], "blocks that are submitted by it are not seen"),
        (&["dispatch_sync"], "blocks that are run by it are not seen"),
        (&["dispatch_group_async"], "blocks that are submitted to groups are not seen"),
        (&["dispatch_group_notify"], "blocks that wait for groups are not seen"),
        (&["dispatch_group_leave"], "whether groups become empty is not known"),
        (&["dispatch_after"], "blocks that are submitted for later are not seen"),
        (&["dispatch_apply"], "parallel loops are not seen"),
        (&["_Block_copy"], "blocks that were copied while they were submitted have only their submission"),
        (&["_Block_release"], "blocks that share a function without a name are matched by their order"),
        (
            &["dispatch_queue_create_with_target$V2", "dispatch_queue_create_with_target", "dispatch_queue_create"],
            "a queue that takes the memory of another is taken for it",
        ),
    ],
};

/// Whether a function is a block's own: clang's names for those of C, and Swift's for the shared functions that lead from
/// a block to a closure (a reabstraction thunk to `@convention(block)`).
pub(super) fn is_block_invoke(name: &str) -> bool {
    // LLVM distinguishes functions of one name by a number behind a dot.
    let name = name.split('.').next().unwrap_or_default();
    if let Some(rest) = name.strip_prefix("$s") {
        return rest.contains("IeyB") && rest.ends_with("_TR");
    }
    let Some((_, number)) = name.rsplit_once("_block_invoke") else { return false };
    number.is_empty() || number.strip_prefix('_').is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_blocks_are_known_by_their_names() {
        for name in [
            "__main_block_invoke",
            "__run_block_invoke_12",
            "__main_block_invoke_2.8",
            "$sIeg_IeyB_TR",
            "$sIegh_IeyBh_TR",
        ] {
            assert!(is_block_invoke(name), "{name}");
        }
        for name in ["main", "my_block_invoker", "_block_invoke_x", "$s4main3fooyyF", "$sIeg_SgIeyB_TRTA"] {
            assert!(!is_block_invoke(name), "{name}");
        }
    }
}
