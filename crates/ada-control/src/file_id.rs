//! Which file something was learnt of: one that is rebuilt is another.

use std::fmt::Write;
use std::io;
use std::path::Path;

use ada_image::Image;
use serde::{Deserialize, Serialize};

/// What distinguishes a file's content from that of others: `4f1c…`, the build-id, or `crc32-1234abcd`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(String);

impl FileId {
    /// That of a file with this build-id, or else these bytes.
    pub fn of(build_id: Option<&[u8]>, bytes: &[u8]) -> Self {
        match build_id {
            Some(id) => Self(id.iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            })),
            None => Self(format!("crc32-{:08x}", crc32fast::hash(bytes))),
        }
    }

    /// That of the file that is there now.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        let bytes = std::fs::read(path)?;
        let image = Image::parse(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self::of(image.build_id(), &bytes))
    }

    /// That which is written so, if it is one.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| Self(id.to_owned()))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
