//! The functions of libdispatch and the blocks runtime whose calls report what becomes of blocks.

use crate::word_enum::word_enum;

/// What such a function says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GcdCall {
    /// Work is submitted.
    Submit(Submit),
    /// A group is made.
    GroupCreate,
    /// A group has one more thing to wait for.
    GroupEnter,
    /// A group has one less to wait for.
    GroupLeave,
    /// A thread waits for a group.
    GroupWait,
    /// A queue is made.
    QueueCreate,
    /// The same, on top of another queue.
    QueueCreateOn,
    /// A queue is put on top of another.
    SetTarget,
    /// An attribute of queues is made, with a quality of service.
    AttributeQos,
    /// A source is made: of timers, descriptors, signals.
    SourceCreate,
    /// A block is copied.
    BlockCopy,
    /// A reference to a block is given up.
    BlockRelease,
    /// A block is wrapped into another, which can be waited for and cancelled.
    BlockWrap,
    /// A wrapped block is cancelled.
    BlockCancel,
    /// A block's own function, or one that was submitted.
    Invoke,
    /// The same, shared by all closures of one type: the block says which closure.
    InvokeShared,
}

/// Work that is submitted: how, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Submit {
    /// How.
    pub how: How,
    /// Whether it is a function and its argument, and not a block.
    pub is_function: bool,
    /// Whether the first argument is not the queue but a group, a time or a count.
    pub has_first: bool,
}

word_enum! {
    /// How work is submitted.
    #[derive(Default)]
    pub enum How {
        /// It runs some time later.
        #[default]
        Async = 0, "async";
        /// The caller waits for it.
        Sync = 1, "sync";
        /// It runs alone on its queue, some time later.
        BarrierAsync = 2, "barrier_async";
        /// The same, and the caller waits.
        BarrierSync = 3, "barrier_sync";
        /// It belongs to a group.
        Group = 4, "group";
        /// It runs when a group is empty.
        Notify = 5, "notify";
        /// It runs after some time.
        After = 6, "after";
        /// It runs many times, and the caller waits: the call.
        Apply = 7, "apply";
        /// The same: one time.
        Iteration = 8, "iteration";
        /// It runs whenever a source has something for it.
        Source = 9, "source";
    }
}

impl GcdCall {
    pub(crate) fn of(name: &str) -> Option<Self> {
        // LLVM numbers functions of the same name: `f`, `f.1`.
        let name = name.split('.').next().unwrap_or_default();
        if let Some(rest) = name.strip_prefix("dispatch_") {
            return Self::of_dispatch(rest);
        }
        match name {
            "_Block_copy" => Some(Self::BlockCopy),
            "_Block_release" => Some(Self::BlockRelease),
            "_dispatch_block_create" => Some(Self::BlockWrap),
            _ if name.starts_with("$s") => {
                (name.contains("IeyB") && name.ends_with("_TR")).then_some(Self::InvokeShared)
            }
            _ => {
                let (_, number) = name.rsplit_once("_block_invoke")?;
                let is_number = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
                (number.is_empty() || number.strip_prefix('_').is_some_and(is_number)).then_some(Self::Invoke)
            }
        }
    }

    fn of_dispatch(rest: &str) -> Option<Self> {
        let (name, is_function) = rest.strip_suffix("_f").map_or((rest, false), |name| (name, true));
        let (how, has_first) = match name {
            "async" => (How::Async, false),
            "sync" | "async_and_wait" => (How::Sync, false),
            "barrier_async" => (How::BarrierAsync, false),
            "barrier_sync" | "barrier_async_and_wait" => (How::BarrierSync, false),
            "group_async" => (How::Group, true),
            "group_notify" => (How::Notify, true),
            "after" => (How::After, true),
            "apply" => (How::Apply, true),
            "source_set_event_handler" => (How::Source, false),
            _ => {
                return match rest {
                    "group_create" => Some(Self::GroupCreate),
                    "group_enter" => Some(Self::GroupEnter),
                    "group_leave" => Some(Self::GroupLeave),
                    "group_wait" => Some(Self::GroupWait),
                    "queue_create" => Some(Self::QueueCreate),
                    "queue_create_with_target" | "queue_create_with_target$V2" => Some(Self::QueueCreateOn),
                    "queue_attr_make_with_qos_class" => Some(Self::AttributeQos),
                    "source_create" => Some(Self::SourceCreate),
                    "set_target_queue" => Some(Self::SetTarget),
                    "block_create" | "block_create_with_qos_class" => Some(Self::BlockWrap),
                    "block_cancel" => Some(Self::BlockCancel),
                    _ => None,
                };
            }
        };
        Some(Self::Submit(Submit { how, is_function, has_first }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_with_their_forms() {
        let submit = |how, is_function, has_first| Some(GcdCall::Submit(Submit { how, is_function, has_first }));
        assert_eq!(GcdCall::of("dispatch_async"), submit(How::Async, false, false));
        assert_eq!(GcdCall::of("dispatch_group_notify_f"), submit(How::Notify, true, true));
        assert_eq!(GcdCall::of("dispatch_apply"), submit(How::Apply, false, true));
        assert_eq!(GcdCall::of("__main_block_invoke_2"), Some(GcdCall::Invoke));
        assert_eq!(GcdCall::of("__main_block_invoke.6"), Some(GcdCall::Invoke));
        assert_eq!(GcdCall::of("$sIeg_IeyB_TR"), Some(GcdCall::InvokeShared));
        for name in ["dispatch_main", "dispatch_get_global_queue", "async", "my_block_invoker", "$s4main1fyyF"] {
            assert_eq!(GcdCall::of(name), None, "{name}");
        }
    }
}
