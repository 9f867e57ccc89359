//! Gives processes that become another user's rings of their own: what they recorded in until then is their former user's.

mod halted_states;
mod own_rings;

pub(crate) use own_rings::OwnRings;
