//! Plans for programs that the tests build, and for libraries of the system.
#[path = "plan/exits.rs"]
mod exits;
#[path = "plan/landing_pads.rs"]
mod landing_pads;
#[path = "plan/planned.rs"]
mod planned;
#[path = "plan/relays.rs"]
mod relays;
