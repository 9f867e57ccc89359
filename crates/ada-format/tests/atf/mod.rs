//! ATF V2: layout, recovery and sessions.

mod cuts;
mod detail_rules;
mod golden;
mod index_rules;
mod session;
