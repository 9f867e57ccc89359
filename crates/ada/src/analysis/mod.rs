//! What the commands that read spans share: finding the session, its tables, references, filters and printing.

mod asked;
mod corrected;
mod ends;
mod lens;
mod list_page;
mod listing;
mod newest;
mod opened;
mod progress;
mod session_tables;
mod short_name;
mod source_files;
mod terminal;
mod thread_choice;
mod thread_title;
mod units;

pub(crate) use ada_query::{
    CallValues, CausalEnd, CausalLink, FrameSpan, NamedValue, Reference, RemoteLink, Span, SpanKind, Target,
    TraceProcess, Wanted, causal_links, remote_links,
};
pub(crate) use asked::{AskArgs, open_trace};
pub(crate) use corrected::{check_correctable, corrected_text, put_corrected};
pub(crate) use ends::end_words;
pub(crate) use lens::{LensArgs, check_known, check_some_known};
pub(crate) use list_page::{list_page, parse_most};
pub(crate) use listing::{ListFormat, Listing, Out, csv, csv_row, csv_titles};
pub(crate) use newest::{find as find_session, sessions_in};
pub(crate) use opened::{OpenedSession, SessionArgs, again_if_damaged, with_tables, without_damaged_tables};
pub(crate) use session_tables::tell_if_live;
pub(crate) use short_name::{SHORTEST_CALL, brief_name, short_name};
pub(crate) use source_files::{put_source, source_text};
pub(crate) use terminal::{Ink, bar};
pub(crate) use thread_choice::chosen_threads;
pub(crate) use thread_title::thread_title;
pub(crate) use units::{Moment, counted, nanoseconds, parse_nanos, since_start, thousands};
