//! What a process was doing when the recording began.

use ada_event::ThreadId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Calls of a thread that were open when it was attached to. Those whose exits are hooked have events as of then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenCalls {
    /// The thread, by the kernel's id.
    pub tid: ThreadId,
    /// The thread's own name, if it had one by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The functions as `module:symbol`, newest first, as far as unwind tables lead.
    pub functions: Vec<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
