//! What datasets of many machines have beside the tables: where sessions come from, and which there are.

use crate::doc::{ColumnDoc, Kind, TableDoc, plain, pushed};

/// Where a session of a fleet comes from: the folders of a dataset, from the outermost on.
pub(crate) const ORIGIN: [ColumnDoc; 4] = [
    pushed("service", Kind::Text, "what was recorded: the first program's file name, unless the export was told"),
    pushed("version", Kind::Text, "the first program's build-id, unless the export was told"),
    pushed("host", Kind::Text, "the machine, as it called itself when it recorded"),
    pushed("start", Kind::Text, "when the recording's first event happened, by the wall clock: 20261117T084500Z"),
];

/// The list of a dataset's sessions.
pub(crate) const SESSIONS: &TableDoc = &TableDoc {
    name: "sessions",
    about: "the sessions of a dataset that are there in whole",
    columns: &[
        plain("session", Kind::Text, "the session's folder on its host"),
        plain("epoch_unix_ns", Kind::Integer, "what makes a time of the session nanoseconds of Unix time when added"),
        plain("start_unix_ns", Kind::Integer, "its first event"),
        plain("end_unix_ns", Kind::Integer, "its last event"),
        plain("processes", Kind::Integer, "how many processes it has"),
        plain("rows", Kind::Integer, "how many rows its tables have"),
        plain(
            "left_out",
            Kind::Text,
            "the tables that would have taken too long, by comma; null if all wanted are there",
        ),
    ],
    parameters: &[],
};
