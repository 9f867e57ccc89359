//! Sums over spans or events in groups, made by all processors: what `stats` gives, and what questions with `GROUP BY` are
//! answered by. SQLite's own grouping takes ten times as long, and sorts all rows in memory.
//!
//! Values that are grouped by are numbered in SQLite's order, so that a group's key is one number and groups come sorted.
//! Few groups are an array; many are a hash table; more than memory has room for are worked on range by range.

mod answer;
mod counted_events;
mod event_batch;
mod group_table;
mod groups;
mod key;
mod numbering;
mod pieces;
mod question;
mod rewrite;
mod scan;
mod shape;
mod sql_words;
mod sums;
mod worker;

pub(crate) use answer::{AnswerSlot, Answers};
pub(crate) use question::{Aggregate, MOST_PARTS, Question, parse_parts};
pub(crate) use rewrite::rewrite;
pub(crate) use scan::Running;
pub(crate) use sql_words::{Token, Word, words};
