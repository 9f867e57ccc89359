//! What the commands that read spans share: finding the session, its tables, references, filters and printing.

mod asked;
mod block_record;
mod causality;
mod corrected;
mod listing;
mod newest;
mod opened;
mod progress;
mod record;
mod source_files;
mod switched;
mod task_record;
mod thread_title;
mod units;

pub(crate) use ada_query::{Reference, Target};
pub(crate) use asked::{AskArgs, open_trace};
pub(crate) use block_record::{BlockView, queue_name};
pub(crate) use causality::{CausalEnd, links as causal_links};
pub(crate) use corrected::{check_correctable, corrected_text, put_corrected};
pub(crate) use listing::{ListFormat, Listing, Out, csv, csv_row, csv_titles};
pub(crate) use newest::find as find_session;
pub(crate) use opened::{
    OpenedProcess, OpenedSession, SessionArgs, open as open_session_tables, tell_findings, with_tables,
};
pub(crate) use record::{CallbackView, FrameView, PthreadView, Row, read_frame, refer, thread_name};
pub(crate) use source_files::{put_place, source_text};
pub(crate) use task_record::TaskView;
pub(crate) use thread_title::thread_title;
pub(crate) use units::{Moment, counted, nanoseconds, parse_nanos, thousands};
