//! What sessions and object files call this platform.

use ada_format::atf::Platform;
use object::elf::{R_X86_64_RELATIVE, RelocationType};

pub(crate) const PLATFORM: Platform = Platform::LINUX_X86_64;

/// The kind of relocation that adds the address at which an image is loaded.
pub(crate) const RELATIVE_RELOCATION: RelocationType = R_X86_64_RELATIVE;
