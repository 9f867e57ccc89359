//! Talking to a running trace: `ada ps`, `ada filter`, and what they leave in the session.

mod ps;
mod running;
mod switches;
