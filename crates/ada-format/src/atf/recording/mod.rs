//! Writes a session: folders, manifest, and two files a thread.
//!
//! At each moment a reader can make sense of what is there: the first manifest is written before the first event,
//! and says that the session is unfinished.

mod bundle_writer;
mod detail_writer;
mod index_writer;
mod join;
mod name;
mod section;
mod session;
mod thread;
mod thread_file;

pub use detail_writer::DetailWriter;
pub use index_writer::IndexWriter;
pub use session::SessionWriter;
pub use thread::ThreadWriter;

/// When files are forced onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Never. What was written survives the death of the process, in the operating system's cache; it does not
    /// survive the death of the machine.
    #[default]
    Never,
    /// When a file is finished: its data, then its header, then the folder. A header that is complete after a power
    /// cut has complete events.
    OnFinish,
}
