//! What is x86-64 in planning and patching.

pub(crate) mod displaced;
pub(crate) mod flags;
pub(crate) mod relays;
pub(crate) mod scan;
pub(crate) mod stub;
