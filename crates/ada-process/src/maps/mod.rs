//! What a process has mapped, the images among it, and where there is room.

mod free_room;
mod loaded_file;
mod mapping;
mod shared_mapping;

pub use self::free_room::{free_near, is_free};
pub use self::loaded_file::{LoadedFile, loaded_files};
pub(crate) use self::mapping::parse;
pub use self::mapping::{Mapping, of_process};
pub use self::shared_mapping::{MappingAround, SharedFile};
