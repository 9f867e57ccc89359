//! Datagrams between the thread that receives and the one that writes.
//!
//! The system holds few datagrams for us and drops the rest, so the receiver does the least it can: it copies each to
//! the end of a buffer, and wakes nobody. The writer comes for the whole buffer every few milliseconds and leaves an
//! empty one.

use std::mem;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What is held at most; the receiver then waits for the writer, and the system drops what comes meanwhile.
const MAX_BYTES: usize = 32 << 20;
const MAX_DATAGRAMS: usize = 1 << 20;
const WAIT: Duration = Duration::from_millis(1);

/// Datagrams one behind the other, with their senders.
#[derive(Default)]
pub(super) struct Datagrams {
    bytes: Vec<u8>,
    senders: Vec<(SocketAddr, usize)>,
}

impl Datagrams {
    pub(super) fn iter(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.senders.iter().map(move |&(sender, length)| {
            let (datagram, after) = rest.split_at(length);
            rest = after;
            (sender, datagram)
        })
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= MAX_BYTES || self.senders.len() >= MAX_DATAGRAMS
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.senders.clear();
    }
}

#[derive(Default)]
pub(super) struct DatagramQueue {
    waiting: Mutex<Datagrams>,
}

impl DatagramQueue {
    pub(super) fn push(&self, sender: SocketAddr, datagram: &[u8]) {
        let mut waiting = self.lock();
        while waiting.is_full() {
            drop(waiting);
            thread::sleep(WAIT);
            waiting = self.lock();
        }
        waiting.bytes.extend_from_slice(datagram);
        waiting.senders.push((sender, datagram.len()));
    }

    /// Replaces `taken`, which is done with, by all that waits.
    pub(super) fn swap(&self, taken: &mut Datagrams) {
        taken.clear();
        mem::swap(&mut *self.lock(), taken);
    }

    fn lock(&self) -> MutexGuard<'_, Datagrams> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_keep_their_order_and_their_senders() {
        let senders = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let queue = DatagramQueue::default();
        queue.push(senders[0], b"one");
        queue.push(senders[1], b"");
        queue.push(senders[0], b"three");
        let mut taken = Datagrams::default();
        queue.swap(&mut taken);
        let expected = [(senders[0], b"one".as_slice()), (senders[1], b""), (senders[0], b"three")];
        assert_eq!(taken.iter().collect::<Vec<_>>(), expected);
        queue.swap(&mut taken);
        assert_eq!(taken.iter().count(), 0);
    }
}
