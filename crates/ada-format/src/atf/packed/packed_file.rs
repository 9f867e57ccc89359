//! A packed index file, mapped.

use super::shape::PackedShape;
use crate::atf::map::Mapping;

/// A packed index file.
#[derive(Debug)]
pub(crate) struct PackedFile {
    pub(crate) map: Mapping,
    pub(crate) shape: PackedShape,
}
