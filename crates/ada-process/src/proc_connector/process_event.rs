//! What the proc connector sends.

use ada_event::ProcessId;

/// A message of the kernel's about processes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProcessEvent {
    /// Whether it will send events: 0, or the number of an error.
    Acknowledged(u32),
    Forked {
        parent: ProcessId,
        child: ProcessId,
    },
    ThreadStarted {
        process: ProcessId,
    },
    Exec {
        process: ProcessId,
    },
    /// A thread has become another user's.
    UserChanged {
        process: ProcessId,
    },
    /// A thread has ended, perhaps the last one.
    ThreadExited {
        process: ProcessId,
        status: i32,
    },
    Other,
}

/// A netlink header, and the connector's behind it.
pub(super) const HEADERS: usize = 16 + 20;
/// Number of the event, processor, time.
const EVENT_HEADER: usize = 16;

/// The numbers of events.
pub(super) const ACKNOWLEDGED: u32 = 0;
pub(super) const FORK: u32 = 1;
pub(super) const EXEC: u32 = 2;
pub(super) const USER: u32 = 4;
pub(super) const EXIT: u32 = 0x8000_0000;

/// Where a message has a field of its event.
pub(super) const fn at_field(number: usize) -> usize {
    HEADERS + EVENT_HEADER + 4 * number
}

impl ProcessEvent {
    /// `None` for a message that is too short.
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(message.get(at..at + 4)?.try_into().ok()?));
        let field = |number: usize| word(at_field(number));
        let process = |number: usize| field(number).map(ProcessId);
        Some(match word(HEADERS)? {
            ACKNOWLEDGED => Self::Acknowledged(field(0)?),
            // Parent's thread and process, child's thread and process.
            FORK if field(2)? == field(3)? => Self::Forked { parent: process(1)?, child: process(3)? },
            FORK => Self::ThreadStarted { process: process(3)? },
            EXEC => Self::Exec { process: process(1)? },
            USER => Self::UserChanged { process: process(1)? },
            EXIT => Self::ThreadExited { process: process(1)?, status: field(2)? as i32 },
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn message(what: u32, fields: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; HEADERS];
        bytes.extend(what.to_le_bytes());
        bytes.resize(HEADERS + EVENT_HEADER, 0);
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes
    }

    #[test]
    fn messages_are_distinguished_and_short_ones_are_nothing() {
        assert_eq!(ProcessEvent::parse(&message(ACKNOWLEDGED, &[13])), Some(ProcessEvent::Acknowledged(13)));
        assert_eq!(
            ProcessEvent::parse(&message(FORK, &[5, 4, 9, 9])),
            Some(ProcessEvent::Forked { parent: ProcessId(4), child: ProcessId(9) })
        );
        assert_eq!(
            ProcessEvent::parse(&message(FORK, &[5, 4, 6, 4])),
            Some(ProcessEvent::ThreadStarted { process: ProcessId(4) })
        );
        assert_eq!(ProcessEvent::parse(&message(EXEC, &[5, 4])), Some(ProcessEvent::Exec { process: ProcessId(4) }));
        assert_eq!(
            ProcessEvent::parse(&message(USER, &[5, 4, 33, 33])),
            Some(ProcessEvent::UserChanged { process: ProcessId(4) })
        );
        let exit = message(EXIT, &[5, 4, 0x0700, 17, 1, 1]);
        assert_eq!(
            ProcessEvent::parse(&exit),
            Some(ProcessEvent::ThreadExited { process: ProcessId(4), status: 0x0700 })
        );
        assert_eq!(ProcessEvent::parse(&message(0x40, &[1, 2, 3])), Some(ProcessEvent::Other));
        for length in 0..HEADERS + EVENT_HEADER + 8 {
            assert_eq!(ProcessEvent::parse(&exit[..length.min(exit.len())]), None, "{length}");
        }
    }
}
