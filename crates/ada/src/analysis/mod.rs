//! What the commands that read spans share: finding the session, its tables, references, filters and printing.

mod asked;
mod corrected;
mod list_page;
mod listing;
mod newest;
mod opened;
mod progress;
mod session_tables;
mod source_files;
mod thread_title;
mod units;

pub(crate) use ada_query::{
    CausalEnd, CausalLink, FrameSpan, Reference, Span, SpanKind, Target, TraceProcess, causal_links,
};
pub(crate) use asked::{AskArgs, open_trace};
pub(crate) use corrected::{check_correctable, corrected_text, put_corrected};
pub(crate) use list_page::list_page;
pub(crate) use listing::{ListFormat, Listing, Out, csv, csv_row, csv_titles};
pub(crate) use newest::find as find_session;
pub(crate) use opened::{OpenedSession, SessionArgs, again_if_damaged, with_tables, without_damaged_tables};
pub(crate) use session_tables::show_findings;
pub(crate) use source_files::{put_source, source_text};
pub(crate) use thread_title::thread_title;
pub(crate) use units::{Moment, counted, nanoseconds, parse_nanos, thousands};
