//! Types of which people see something else than their fields: containers of languages' libraries.

use crate::debug_info::EntryAt;
use crate::type_reader::{Reach, TypeReader};
use crate::value_type::ContentType;

/// What the names of Rust's owning fat pointers begin with.
pub(crate) const BOX: &str = "alloc::boxed::Box<";

impl TypeReader<'_, '_> {
    /// What people see in a container. None of what is none, or has other members than those that are known.
    pub(crate) fn container(&self, at: EntryAt, reach: Reach) -> Option<ContentType> {
        let name = self.info.name(at)?;
        // Rust's fat pointers are called as they are written.
        if name.starts_with(['&', '*']) || name.starts_with(BOX) {
            return self.rust_slice(at, &name, reach);
        }
        let plain = name.split('<').next().unwrap_or_default();
        let librarys = || self.rust_container(at, plain, reach).or_else(|| self.cpp_container(at, plain, reach));
        self.go_container(at, &name, reach).or_else(librarys)
    }
}
