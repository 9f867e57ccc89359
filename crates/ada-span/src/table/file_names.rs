//! What the files of the tables are called. A worker of the analysis writes one shard.

pub(crate) fn meta_file() -> &'static str {
    "meta.bin"
}

pub(crate) fn spans_file(shard: usize) -> String {
    format!("spans_{shard}.bin")
}

pub(crate) fn late_file(shard: usize) -> String {
    format!("late_{shard}.bin")
}

pub(crate) fn anomalies_file(shard: usize) -> String {
    format!("anomalies_{shard}.bin")
}
