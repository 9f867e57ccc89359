//! The processes that a traced one has made, and how they ended, by the kernel's own word.
//!
//! A child that is killed before its first call has written no record, and is gone before anybody can ask for it. The
//! kernel tells whoever listens of every fork and every end (its "process events connector"). Where nobody may listen, in a
//! container for instance, such children are missed, and the session says so.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::end::End;
use crate::procfs::id_count;

/// What is heard of the processes of a session.
pub struct ProcConnector {
    socket: OwnedFd,
    known: Mutex<HashMap<u32, Relative>>,
    /// Those of them that nobody has asked for.
    news: Mutex<Vec<Child>>,
    /// There was no room for everything that the kernel had to tell.
    missed_some: AtomicBool,
}

#[derive(Default)]
struct Relative {
    threads: u32,
    /// How many programs it has run since it is known …
    programs: u32,
    /// … and how many of these are traced, the first ones.
    followed: u32,
    /// What the last of its threads that has ended said.
    status: Option<i32>,
}

/// A process that a traced one has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its id.
    pub pid: u32,
    /// Who made it.
    pub parent: u32,
}

/// The first process is known by other means, and how many threads it has is not.
const MANY: u32 = u32::MAX / 2;

/// How long the kernel may take to say that it tells, …
const ANSWER: Duration = Duration::from_millis(20);
/// … and to tell of an end that is known.
const PATIENCE: Duration = Duration::from_secs(1);
/// Room for what the kernel tells while nobody listens: a message takes about 700 bytes.
const ROOM: libc::c_int = 16 << 20;

const NETLINK_CONNECTOR: libc::c_int = 11;
const PROCESS_EVENTS: u32 = 1;
const LISTEN: u32 = 1;
/// A netlink header, and the connector's behind it.
const HEADERS: usize = 16 + 20;
/// Number of the event, processor, time.
const EVENT_HEADER: usize = 16;

impl ProcConnector {
    /// Listens from now on, on behalf of a process.
    pub fn listen(first: u32) -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers are passed.
        let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, NETLINK_CONNECTOR) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: all zeros are a good address.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = PROCESS_EVENTS;
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address lives through the call and is as large as is said.
        if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) } < 0 {
            return Err(io::Error::last_os_error());
        }
        for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            let (room, size) = (ROOM, size_of_val(&ROOM) as libc::socklen_t);
            // SAFETY: the number lives through the call. With less room some may be missed, and that is said.
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const room).cast(), size) };
        }
        let kin = Self::of(socket, first);
        kin.begin()?;
        Ok(kin)
    }

    fn of(socket: OwnedFd, first: u32) -> Self {
        let known = HashMap::from([(first, Relative { threads: MANY, ..Relative::default() })]);
        Self { socket, known: Mutex::new(known), news: Mutex::default(), missed_some: AtomicBool::new(false) }
    }

    /// Asks the kernel to tell, and waits until it has said that it does.
    fn begin(&self) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADERS + 4);
        message.extend((HEADERS as u32 + 4).to_le_bytes());
        message.extend((libc::NLMSG_DONE as u16).to_le_bytes());
        message.extend([0; 10]);
        for word in [PROCESS_EVENTS, PROCESS_EVENTS, 0, 0, 4, LISTEN] {
            message.extend(word.to_le_bytes());
        }
        // SAFETY: the bytes live through the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        // It answers at once, or never.
        while let Some(told) = self.next(ANSWER)? {
            match told {
                Told::Answer(0) => return Ok(()),
                Told::Answer(error) => return Err(io::Error::from_raw_os_error(error as i32)),
                _ => {}
            }
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the kernel tells only the machine's own root"))
    }

    /// Hears what there is, and waits so long for the first of it.
    pub fn hear(&self, wait: Duration) {
        let mut wait = wait;
        loop {
            match self.next(wait) {
                Ok(Some(told)) if self.is_elsewhere(&told) => {}
                Ok(Some(told)) => self.take(told),
                Ok(None) => return,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.missed_some.store(true, Ordering::Relaxed);
                }
                Err(_) => return,
            }
            wait = Duration::ZERO;
        }
    }

    /// Hears on until the end of each of these processes is known, which have ended, but not for ever.
    pub fn hear_of_ends(&self, gone: &[u32]) {
        let until = Instant::now() + PATIENCE;
        let is_known = |pid: &u32| !self.lives(*pid);
        while !gone.iter().all(is_known) && Instant::now() < until {
            self.hear(Duration::from_millis(5));
        }
    }

    /// Whether a child has a namespace of its own for process ids, and records under another one than this.
    fn is_elsewhere(&self, told: &Told) -> bool {
        let Told::Forked { parent, child } = *told else { return false };
        let is_kin = self.known.lock().expect("nobody panics with the lock").contains_key(&parent);
        is_kin && id_count(child).zip(id_count(std::process::id())).is_some_and(|(its, own)| its > own)
    }

    fn take(&self, told: Told) {
        let mut known = self.known.lock().expect("nobody panics with the lock");
        match told {
            Told::Forked { parent, child } => {
                let is_traced = |parent: &Relative| parent.programs <= parent.followed;
                if known.get(&parent).is_some_and(is_traced) {
                    let child_of_it = Relative { threads: 1, ..Relative::default() };
                    known.insert(child, child_of_it);
                    self.news.lock().expect("nobody panics with the lock").push(Child { pid: child, parent });
                } else {
                    // An id that is used again.
                    known.remove(&child);
                }
            }
            Told::Thread { process } => {
                known.entry(process).and_modify(|it| it.threads += 1);
            }
            Told::Exec { process } => {
                known.entry(process).and_modify(|it| it.programs += 1);
            }
            Told::Exited { process, status } => {
                known.entry(process).and_modify(|it| {
                    it.threads = it.threads.saturating_sub(1);
                    it.status = Some(status);
                });
            }
            Told::Answer(_) | Told::Else => {}
        }
    }

    /// The next thing that is told within so long.
    fn next(&self, wait: Duration) -> io::Result<Option<Told>> {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` lives through the call.
        if unsafe { libc::poll(&raw mut poll, 1, wait.as_millis() as libc::c_int) } <= 0 {
            return Ok(None);
        }
        let mut bytes = [0_u8; 1024];
        // SAFETY: the buffer is as large as is said.
        let read = unsafe { libc::recv(self.socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if read < 0 {
            let error = io::Error::last_os_error();
            let is_nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if is_nothing { Ok(None) } else { Err(error) };
        }
        Ok(Some(Told::of(&bytes[..read as usize]).unwrap_or(Told::Else)))
    }

    /// A process runs a program that is traced. Called before that runs.
    pub fn followed(&self, pid: u32) {
        self.known.lock().expect("nobody panics with the lock").entry(pid).and_modify(|it| it.followed += 1);
    }

    /// The processes that were made since the last question.
    pub fn newcomers(&self) -> Vec<Child> {
        std::mem::take(&mut *self.news.lock().expect("nobody panics with the lock"))
    }

    /// Whether a process runs a program that is not traced, or has not been hooked yet.
    pub fn has_left(&self, pid: u32) -> bool {
        let known = self.known.lock().expect("nobody panics with the lock");
        known.get(&pid).is_some_and(|it| it.programs > it.followed)
    }

    /// The processes that are not known to have ended.
    pub fn living(&self) -> Vec<u32> {
        let known = self.known.lock().expect("nobody panics with the lock");
        known.iter().filter(|(_, it)| (1..MANY / 2).contains(&it.threads)).map(|(pid, _)| *pid).collect()
    }

    /// Whether a process is known and has not ended, as far as was heard.
    pub fn lives(&self, pid: u32) -> bool {
        self.known.lock().expect("nobody panics with the lock").get(&pid).is_some_and(|it| it.threads > 0)
    }

    /// How a process ended, if it has.
    pub fn end_of(&self, pid: u32) -> Option<End> {
        let known = self.known.lock().expect("nobody panics with the lock");
        let status = known.get(&pid).filter(|it| it.threads == 0)?.status?;
        Some(End::of_status(status))
    }

    /// Whether the kernel told more than could be read.
    pub fn has_missed_some(&self) -> bool {
        self.missed_some.load(Ordering::Relaxed)
    }
}

/// What the kernel tells.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// Whether it will; 0 for yes.
    Answer(u32),
    Forked {
        parent: u32,
        child: u32,
    },
    Thread {
        process: u32,
    },
    Exec {
        process: u32,
    },
    /// A thread, perhaps the last one.
    Exited {
        process: u32,
        status: i32,
    },
    Else,
}

impl Told {
    /// `None` for what is too short to be anything.
    fn of(message: &[u8]) -> Option<Self> {
        let event = message.get(HEADERS..)?;
        let word = |at: usize| Some(u32::from_le_bytes(event.get(at..at + 4)?.try_into().ok()?));
        let field = |number: usize| word(EVENT_HEADER + 4 * number);
        Some(match word(0)? {
            0 => Self::Answer(field(0)?),
            // Parent's thread and process, child's thread and process.
            1 if field(2)? == field(3)? => Self::Forked { parent: field(1)?, child: field(3)? },
            1 => Self::Thread { process: field(3)? },
            2 => Self::Exec { process: field(1)? },
            0x8000_0000 => Self::Exited { process: field(1)?, status: field(2)? as i32 },
            _ => Self::Else,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kin() -> ProcConnector {
        // SAFETY: no pointers are passed.
        let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0)) };
        ProcConnector::of(socket, 1)
    }

    fn message(what: u32, fields: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; HEADERS];
        bytes.extend(what.to_le_bytes());
        bytes.resize(HEADERS + EVENT_HEADER, 0);
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes
    }

    #[test]
    fn messages_are_told_apart_and_short_ones_are_nothing() {
        assert_eq!(Told::of(&message(0, &[13])), Some(Told::Answer(13)));
        assert_eq!(Told::of(&message(1, &[5, 4, 9, 9])), Some(Told::Forked { parent: 4, child: 9 }));
        assert_eq!(Told::of(&message(1, &[5, 4, 6, 4])), Some(Told::Thread { process: 4 }));
        assert_eq!(Told::of(&message(2, &[5, 4])), Some(Told::Exec { process: 4 }));
        let exit = message(0x8000_0000, &[5, 4, 0x0700, 17, 1, 1]);
        assert_eq!(Told::of(&exit), Some(Told::Exited { process: 4, status: 0x0700 }));
        assert_eq!(Told::of(&message(4, &[1, 2, 3])), Some(Told::Else));
        for length in 0..HEADERS + EVENT_HEADER + 8 {
            assert_eq!(Told::of(&exit[..length.min(exit.len())]), None, "{length}");
        }
    }

    #[test]
    fn a_process_has_ended_with_its_last_thread() {
        let kin = kin();
        kin.take(Told::Forked { parent: 1, child: 2 });
        kin.take(Told::Thread { process: 2 });
        kin.take(Told::Exited { process: 2, status: 0 });
        assert!(kin.lives(2) && kin.end_of(2).is_none());
        kin.take(Told::Exited { process: 2, status: 9 });
        assert_eq!((kin.lives(2), kin.end_of(2)), (false, Some(End::Killed(9))));
        assert_eq!(kin.newcomers(), [Child { pid: 2, parent: 1 }]);
    }

    #[test]
    fn whoever_runs_a_program_that_is_not_traced_is_no_more_concern() {
        let kin = kin();
        for child in [2, 3] {
            kin.take(Told::Forked { parent: 1, child });
        }
        // Word of the one that is traced may come later than it runs.
        kin.followed(2);
        kin.take(Told::Exec { process: 2 });
        kin.take(Told::Exec { process: 3 });
        kin.take(Told::Forked { parent: 2, child: 4 });
        kin.take(Told::Forked { parent: 3, child: 5 });
        kin.take(Told::Forked { parent: 77, child: 78 });
        let news = [(2, 1), (3, 1), (4, 2)].map(|(pid, parent)| Child { pid, parent });
        assert_eq!(kin.newcomers(), news);
        assert_eq!([2, 3, 4].map(|pid| kin.has_left(pid)), [false, true, false]);
    }

    #[test]
    fn an_id_that_is_used_again_is_somebody_else() {
        let kin = kin();
        kin.take(Told::Forked { parent: 1, child: 2 });
        kin.take(Told::Exited { process: 2, status: 9 });
        kin.take(Told::Forked { parent: 77, child: 2 });
        assert_eq!((kin.lives(2), kin.end_of(2)), (false, None));
        assert!(kin.living().is_empty());
    }
}
