//! Field numbers and values of Perfetto's published definitions (`perfetto_trace.proto`).

pub(super) mod trace {
    pub(in super::super) const PACKET: u64 = 1;
}

pub(super) mod packet {
    pub(in super::super) const FTRACE_EVENTS: u64 = 1;
    pub(in super::super) const TIMESTAMP: u64 = 8;
    pub(in super::super) const SEQUENCE_ID: u64 = 10;
    pub(in super::super) const TRACK_EVENT: u64 = 11;
    pub(in super::super) const INTERNED_DATA: u64 = 12;
    pub(in super::super) const SEQUENCE_FLAGS: u64 = 13;
    pub(in super::super) const TRACK_DESCRIPTOR: u64 = 60;
    /// The sequence starts with no names.
    pub(in super::super) const CLEARED: u64 = 1;
    /// The packet needs the names before it.
    pub(in super::super) const NEEDS_STATE: u64 = 2;
}

pub(super) mod event {
    pub(in super::super) const CATEGORY_IIDS: u64 = 3;
    pub(in super::super) const DEBUG_ANNOTATIONS: u64 = 4;
    pub(in super::super) const TYPE: u64 = 9;
    pub(in super::super) const NAME_IID: u64 = 10;
    pub(in super::super) const TRACK_UUID: u64 = 11;
    pub(in super::super) const FLOW_IDS: u64 = 47;
    pub(in super::super) const TERMINATING_FLOW_IDS: u64 = 48;
    pub(in super::super) const SLICE_BEGIN: u64 = 1;
    pub(in super::super) const SLICE_END: u64 = 2;
    pub(in super::super) const INSTANT: u64 = 3;
}

pub(super) mod annotation {
    pub(in super::super) const NAME_IID: u64 = 1;
    pub(in super::super) const BOOL: u64 = 2;
    pub(in super::super) const UINT: u64 = 3;
    pub(in super::super) const INT: u64 = 4;
    pub(in super::super) const DOUBLE: u64 = 5;
    pub(in super::super) const STRING: u64 = 6;
    pub(in super::super) const POINTER: u64 = 7;
    pub(in super::super) const STRING_IID: u64 = 17;
}

pub(super) mod interned {
    pub(in super::super) const CATEGORIES: u64 = 1;
    pub(in super::super) const EVENT_NAMES: u64 = 2;
    pub(in super::super) const ANNOTATION_NAMES: u64 = 3;
    pub(in super::super) const STRING_VALUES: u64 = 29;
    /// Of each of these.
    pub(in super::super) const IID: u64 = 1;
    pub(in super::super) const TEXT: u64 = 2;
}

pub(super) mod track {
    pub(in super::super) const UUID: u64 = 1;
    pub(in super::super) const NAME: u64 = 2;
    pub(in super::super) const PROCESS: u64 = 3;
    pub(in super::super) const THREAD: u64 = 4;
    pub(in super::super) const PARENT: u64 = 5;
    pub(in super::super) const PROCESS_PID: u64 = 1;
    pub(in super::super) const PROCESS_NAME: u64 = 6;
    pub(in super::super) const THREAD_PID: u64 = 1;
    pub(in super::super) const THREAD_TID: u64 = 2;
    pub(in super::super) const THREAD_NAME: u64 = 5;
}

pub(super) mod bundle {
    pub(in super::super) const CPU: u64 = 1;
    pub(in super::super) const EVENT: u64 = 2;
}

pub(super) mod ftrace {
    pub(in super::super) const TIMESTAMP: u64 = 1;
    pub(in super::super) const PID: u64 = 2;
    pub(in super::super) const SCHED_SWITCH: u64 = 4;
}

pub(super) mod sched_switch {
    pub(in super::super) const PREV_COMM: u64 = 1;
    pub(in super::super) const PREV_PID: u64 = 2;
    pub(in super::super) const PREV_PRIO: u64 = 3;
    pub(in super::super) const PREV_STATE: u64 = 4;
    pub(in super::super) const NEXT_COMM: u64 = 5;
    pub(in super::super) const NEXT_PID: u64 = 6;
    pub(in super::super) const NEXT_PRIO: u64 = 7;
    /// States, as Linux has them.
    pub(in super::super) const RUNNABLE: u64 = 0;
    pub(in super::super) const SLEEPING: u64 = 1;
    pub(in super::super) const DEAD: u64 = 16;
}
