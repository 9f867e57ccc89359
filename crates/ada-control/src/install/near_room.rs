//! Maps parts of the shared memory within a jump's reach of an image.

use std::io;

use ada_event::RuntimeAddr;
use ada_process::Remote;
use ada_process::maps::{self, LoadedFile, Mapping};

use crate::install::open_in_target::{MappedPart, OpenInTarget};

/// How often to look for room that somebody takes meanwhile: the other threads of a target that is attached to go on.
const TRIES_FOR_ROOM: usize = 64;

/// Maps a part of the shared memory close to a file, where nothing is mapped. Gives its address.
pub(super) fn map_near(
    remote: &dyn Remote,
    open: &OpenInTarget,
    mappings: &[Mapping],
    file: &LoadedFile,
    room: u64,
    offset: u64,
) -> Option<RuntimeAddr> {
    let mut known = mappings.to_vec();
    for _ in 0..TRIES_FOR_ROOM {
        let address = maps::free_near(&known, file, room)?;
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        match open.map(remote, &[MappedPart { address, length: room, protection, offset }]) {
            Ok(()) => return Some(address),
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::AddrInUse) => {
                add_mapping(&mut known, address, room);
            }
            Err(_) => return None,
        }
    }
    None
}

/// Takes a new mapping into a list, which is in the order of addresses.
pub(super) fn add_mapping(mappings: &mut Vec<Mapping>, start: RuntimeAddr, length: u64) {
    let mapping = Mapping {
        start,
        end: start + length,
        executable: true,
        read_only: false,
        file_offset: 0,
        inode: 0,
        path: String::new(),
    };
    mappings.insert(mappings.partition_point(|other| other.start < start), mapping);
}
