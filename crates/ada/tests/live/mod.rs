//! Talking to a running trace: `ada ps`, `ada filter`, and what they leave in the session.

mod budget;
mod learning;
mod ps;
mod running;
mod switches;
mod values;
