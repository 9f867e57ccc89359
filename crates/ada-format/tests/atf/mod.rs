//! ATF V2: layout, recovery and sessions.

mod cuts;
mod detail_rules;
mod golden;
mod index_rules;
mod packed;
mod packed_damage;
mod packed_session;
mod session;
