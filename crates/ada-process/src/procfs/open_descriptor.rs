//! What a process has open under a descriptor.

use std::fs;

use ada_event::ProcessId;

use super::ProcessDir;

/// What a descriptor stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenDescriptor {
    /// What the kernel calls it. Pipes, sockets and event descriptors have a number that nothing else has while they live.
    pub name: String,
    /// Whether it was opened to read, and to write.
    pub access: Access,
    /// The number of the socket that it is.
    pub socket: Option<u64>,
}

/// How a file was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// To read.
    pub reads: bool,
    /// To write.
    pub writes: bool,
}

impl OpenDescriptor {
    /// What a process has open under a number now; none where it has nothing there, or that may not be known.
    pub fn read(pid: ProcessId, descriptor: u32) -> Option<Self> {
        let dir = ProcessDir::of(pid);
        let name = fs::read_link(dir.descriptor(descriptor.into())).ok()?.to_string_lossy().into_owned();
        let info = fs::read_to_string(dir.file(&format!("fdinfo/{descriptor}"))).unwrap_or_default();
        Some(Self::of_texts(name, &info))
    }

    fn of_texts(name: String, info: &str) -> Self {
        /// Of `open`: to read, to write, both.
        const ACCESS: u32 = 3;
        let field = |key: &str| info.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
        let flags = field("flags").and_then(|flags| u32::from_str_radix(flags, 8).ok());
        let access = flags.map_or(Access::default(), |flags| Access {
            reads: flags & ACCESS != 1,
            writes: matches!(flags & ACCESS, 1 | 2),
        });
        // All of these have one inode. Older kernels do not number them.
        let name = match field("eventfd-id") {
            Some(id) if name == "anon_inode:[eventfd]" => format!("eventfd:[{id}]"),
            _ => name,
        };
        let socket =
            name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).and_then(|it| it.parse().ok());
        Self { name, access, socket }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn both_ends_of_a_pipe_have_its_name() {
        let (reader, writer) = std::io::pipe().unwrap();
        let [read, written] =
            [reader.as_raw_fd(), writer.as_raw_fd()].map(|fd| OpenDescriptor::read(this_process(), fd as u32).unwrap());
        assert!(read.name.starts_with("pipe:["), "{read:?}");
        assert_eq!(read.name, written.name);
        assert_eq!(read.access, Access { reads: true, writes: false });
        assert_eq!(written.access, Access { reads: false, writes: true });
        assert_eq!(OpenDescriptor::read(this_process(), u32::MAX), None);
    }

    #[test]
    fn sockets_and_event_descriptors_have_numbers() {
        let of = |name: &str, info| OpenDescriptor::of_texts(name.to_owned(), info);
        assert_eq!(of("socket:[17]", "flags:\t02\n").socket, Some(17));
        assert_eq!(of("anon_inode:[eventfd]", "flags:\t02\neventfd-id: 3\n").name, "eventfd:[3]");
        assert_eq!(of("anon_inode:[eventfd]", "").name, "anon_inode:[eventfd]");
        assert_eq!(
            of("/tmp/socket:[17]", "junk"),
            OpenDescriptor { name: "/tmp/socket:[17]".into(), ..Default::default() }
        );
    }
}
