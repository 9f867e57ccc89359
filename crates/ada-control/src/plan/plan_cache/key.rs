//! Everything that a plan depends on.

use ada_image::Image;

use super::folder::{PLAN, TYPES};
use crate::plan::image_file::{FileIdentity, ImageFile};

/// A hash of the planner's sources, by the build script: no plan outlives the code that made it.
const PLANNER: &str = env!("ADA_PLANNER");

/// What a plan was made from, as bytes that are equal if all of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanKey {
    inode: u64,
    /// A checksum of the build-id, or of everything.
    content: u32,
    planner: &'static str,
    /// How the name of its file ends.
    kind: &'static str,
    bytes: Vec<u8>,
}

impl PlanKey {
    /// The key of a file as it is now, with the debug file that was found for it.
    pub(crate) fn new(file: &ImageFile, image: &Image<'_>, debug_file: Option<&ImageFile>) -> Self {
        // Without an id from the linker the content has to do.
        let content = match image.build_id() {
            Some(id) => Content::BuildId(id),
            None => Content::Checksum(crc32fast::hash(file.bytes())),
        };
        Self::from_parts(PLANNER, file.identity(), content, debug_file.map(ImageFile::identity))
    }

    /// The key of the types of an image's functions. They depend on how far pointers are followed, too.
    pub(crate) fn of_types(
        file: &ImageFile,
        build_id: Option<&[u8]>,
        debug_file: Option<&ImageFile>,
        depth: usize,
    ) -> Self {
        let content = build_id.map_or_else(|| Content::Checksum(crc32fast::hash(file.bytes())), Content::BuildId);
        let mut key = Self::from_parts(PLANNER, file.identity(), content, debug_file.map(ImageFile::identity));
        key.bytes.extend_from_slice(&(depth as u64).to_le_bytes());
        Self { kind: TYPES, ..key }
    }

    fn from_parts(
        planner: &'static str,
        file: FileIdentity,
        content: Content<'_>,
        debug_file: Option<FileIdentity>,
    ) -> Self {
        let mut bytes = planner.as_bytes().to_vec();
        push_identity(&mut bytes, &file);
        match debug_file {
            Some(identity) => {
                bytes.push(1);
                push_identity(&mut bytes, &identity);
            }
            None => bytes.push(0),
        }
        // Of any length, and therefore last.
        let content = match content {
            Content::BuildId(id) => {
                bytes.push(1);
                bytes.extend_from_slice(id);
                crc32fast::hash(id)
            }
            Content::Checksum(checksum) => {
                bytes.push(0);
                bytes.extend_from_slice(&checksum.to_le_bytes());
                checksum
            }
        };
        Self { inode: file.inode, content, planner, kind: PLAN, bytes }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A later plan for the same file replaces the earlier one. Two versions of ada, or two files of the same number on
    /// different devices, do not get in each other's way.
    pub(crate) fn file_name(&self) -> String {
        format!("{:x}-{:08x}-{}.{}", self.inode, self.content, self.planner, self.kind)
    }
}

/// What says that the bytes of two files are the same.
#[derive(Clone, Copy)]
enum Content<'a> {
    BuildId(&'a [u8]),
    Checksum(u32),
}

fn push_identity(bytes: &mut Vec<u8>, identity: &FileIdentity) {
    let FileIdentity { inode, size, modified, changed } = identity;
    for word in [inode, size] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for word in modified.iter().chain(changed) {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileIdentity = FileIdentity { inode: 7, size: 100, modified: [1, 2], changed: [3, 4] };

    #[test]
    fn whatever_changes_makes_another_key() {
        let key = |planner, file, content, debug| PlanKey::from_parts(planner, file, content, debug);
        let id = Content::BuildId(&[1, 2, 3, 4]);
        let keys = [
            key("a", FILE, id, None),
            key("b", FILE, id, None),
            key("a", FileIdentity { inode: 8, ..FILE }, id, None),
            key("a", FileIdentity { size: 101, ..FILE }, id, None),
            key("a", FileIdentity { modified: [1, 3], ..FILE }, id, None),
            key("a", FileIdentity { changed: [4, 4], ..FILE }, id, None),
            key("a", FILE, Content::BuildId(&[1, 2, 3, 5]), None),
            key("a", FILE, Content::Checksum(0x0403_0201), None),
            key("a", FILE, id, Some(FILE)),
            key("a", FILE, id, Some(FileIdentity { size: 101, ..FILE })),
        ];
        for (number, one) in keys.iter().enumerate() {
            for other in &keys[..number] {
                assert_ne!(one.bytes(), other.bytes());
            }
        }
    }

    #[test]
    fn the_planner_has_a_name_of_its_own() {
        assert!(PLANNER.len() == 16 && PLANNER.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}
