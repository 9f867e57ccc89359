//! Calls of input and output of a process, and what was read behind their arguments.

use ada_event::{EventSeq, TraceNanos};

use crate::NONE;
use crate::bytes::{Decoder, Encoder};
use crate::detail::EventDetail;
use crate::io_call_span::IoCallSpan;
use crate::ring::{RingEnd, RingLook, follow};
use crate::role::IoCall;
use crate::socket_address::socket_address;
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

/// Calls that are kept of a worker's threads.
const MOST_CALLS: usize = 1 << 20;

/// What is kept of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoCalls {
    /// Those of which registers are known, by start.
    pub calls: Vec<IoCallSpan>,
    /// How many were not kept, because there were too many.
    pub left_out: u64,
    /// When registers of a call that moves bytes, or makes or closes a descriptor, were first not kept, because there were too many.
    pub known_until: Option<TraceNanos>,
    /// Until when all calls are known that make addresses stand for something else.
    pub memory_known_until: Option<TraceNanos>,
    /// What was ready when calls came back, by thread and call.
    pub ready: Vec<ReadyDescriptor>,
    /// Addresses that something was sent to, or came from, by thread and call.
    pub addresses: Vec<CallAddress>,
    /// Looks at rings, until these are followed.
    pub looks: Vec<RingLook>,
    /// What waits for rings ended with, by thread and call.
    pub ring_ends: Vec<RingEnd>,
}

/// The address that a call sent something to, or got something from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallAddress {
    /// The thread.
    pub thread: ThreadIndex,
    /// The call's opening event.
    pub seq: EventSeq,
    /// As people write it.
    pub address: String,
}

word_struct! {
    /// A descriptor that was ready when `poll` or `select` came back.
    pub struct ReadyDescriptor {
        /// The thread.
        pub thread: ThreadIndex,
        /// The call's opening event.
        pub seq: EventSeq,
        /// Which one; none for those of which only is known that there are more.
        pub descriptor: Option<u64>,
        /// For what, in the bits of `poll`.
        pub events: u64,
    }
}

/// Of `poll` and `epoll`: there is something to read, something urgent, and room to write.
pub(crate) const READABLE: u64 = 1;
const URGENT: u64 = 2;
pub(crate) const WRITABLE: u64 = 4;

impl IoCalls {
    pub(crate) fn keep(&mut self, call: IoCallSpan, back: Option<&EventDetail>) {
        /// At this very address, whatever is there.
        const FIXED: u64 = 0x10;
        if call.what() == IoCall::Map && call.arguments[3] & FIXED == 0 {
            return;
        }
        if self.calls.len() >= MOST_CALLS {
            self.left_out += 1;
            return;
        }
        if let Some(back) = back {
            let comes = matches!(call.what(), IoCall::ReceiveFrom | IoCall::ReceiveMessage) && call.bytes_moved();
            if comes {
                self.note_address(&call, &back.words);
            }
            let ready = ready_of(&call, &back.words);
            let count = ready.len();
            let row = |(descriptor, events)| ReadyDescriptor {
                thread: call.thread,
                seq: call.seq,
                descriptor: Some(descriptor),
                events,
            };
            self.ready.extend(ready.into_iter().map(row));
            let is_list = matches!(call.what(), IoCall::Poll | IoCall::Select);
            if is_list && count > 0 && call.small_result().is_some_and(|all| all as usize > count) {
                self.ready.push(ReadyDescriptor { descriptor: None, events: 0, ..row((0, 0)) });
            }
        }
        self.calls.push(call);
    }

    /// Notes the address that was read of a call, which comes first.
    pub(crate) fn note_address(&mut self, call: &IoCallSpan, words: &[u64]) {
        if self.addresses.len() < MOST_CALLS
            && let Some(address) = socket_address(words)
        {
            self.addresses.push(CallAddress { thread: call.thread, seq: call.seq, address });
        }
    }

    /// Registers of a call were not kept.
    pub(crate) fn lose(&mut self, what: IoCall, time: TraceNanos) {
        // Who only asks changes nothing.
        let changes = !matches!(what, IoCall::Poll | IoCall::Select | IoCall::EpollWait | IoCall::WaitChild);
        if matches!(what, IoCall::Unmap | IoCall::Map) {
            self.memory_known_until = self.memory_known_until.into_iter().chain([time]).min();
        } else if changes {
            self.known_until = self.known_until.into_iter().chain([time]).min();
        }
    }

    pub(crate) fn join(&mut self, part: Self) {
        self.calls.extend(part.calls);
        self.ready.extend(part.ready);
        self.addresses.extend(part.addresses);
        self.looks.extend(part.looks);
        self.left_out += part.left_out;
        self.known_until = self.known_until.into_iter().chain(part.known_until).min();
        self.memory_known_until = self.memory_known_until.into_iter().chain(part.memory_known_until).min();
    }

    /// Finds out what rings have done, and puts everything in its order.
    pub(crate) fn finish(&mut self) {
        let followed = follow(std::mem::take(&mut self.looks));
        let room = MOST_CALLS.saturating_sub(self.calls.len());
        self.left_out += followed.calls.len().saturating_sub(room) as u64;
        self.calls.extend(followed.calls.into_iter().take(room));
        self.ring_ends = followed.ends;
        self.known_until = self.known_until.into_iter().chain(followed.known_until).min();
        self.sort();
    }

    fn sort(&mut self) {
        self.calls.sort_unstable_by_key(|call| (call.start, call.thread, call.seq));
        self.ready.sort_by_key(|it| (it.thread, it.seq));
        self.addresses.sort_by_key(|it| (it.thread, it.seq));
        self.ring_ends.sort_by_key(|it| (it.thread, it.seq));
    }

    /// What was ready when a call came back.
    pub(crate) fn ready_in(&self, call: &IoCallSpan) -> &[ReadyDescriptor] {
        let key = |it: &ReadyDescriptor| (it.thread, it.seq);
        let first = self.ready.partition_point(|it| key(it) < (call.thread, call.seq));
        let count = self.ready[first..].iter().take_while(|it| key(it) == (call.thread, call.seq)).count();
        &self.ready[first..first + count]
    }

    /// Notes a look at a ring.
    pub(crate) fn look(&mut self, look: RingLook) {
        if self.looks.len() < MOST_CALLS {
            self.looks.push(look);
        } else {
            self.lose(IoCall::Ring, look.time);
        }
    }

    /// What a wait for a ring ended with.
    pub(crate) fn ring_end(&self, call: &IoCallSpan) -> Option<&RingEnd> {
        let found = self.ring_ends.binary_search_by_key(&(call.thread, call.seq), |it| (it.thread, it.seq));
        found.ok().map(|at| &self.ring_ends[at])
    }

    /// The address that a call sent something to, or got something from.
    pub(crate) fn address_of(&self, call: &IoCallSpan) -> Option<&str> {
        let found = self.addresses.binary_search_by_key(&(call.thread, call.seq), |it| (it.thread, it.seq));
        found.ok().map(|at| self.addresses[at].address.as_str())
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.list(&self.calls, |out, it| it.encode(out));
        out.u64(self.left_out);
        for time in [self.known_until, self.memory_known_until] {
            out.u64(time.map_or(NONE, |time| time.0));
        }
        out.list(&self.ready, |out, it| it.encode(out));
        out.list(&self.addresses, |out, it| {
            out.u32(it.thread.0).u64(it.seq.0).text(&it.address);
        });
        out.list(&self.ring_ends, |out, it| it.encode(out));
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let time = |word: u64| Some(word).filter(|time| *time != NONE).map(TraceNanos);
        Some(Self {
            calls: from.list(IoCallSpan::decode)?,
            left_out: from.u64()?,
            known_until: time(from.u64()?),
            memory_known_until: time(from.u64()?),
            ready: from.list(ReadyDescriptor::decode)?,
            addresses: from.list(|from| {
                Some(CallAddress {
                    thread: ThreadIndex(from.u32()?),
                    seq: EventSeq(from.u64()?),
                    address: from.text()?,
                })
            })?,
            looks: Vec::new(),
            ring_ends: from.list(RingEnd::decode)?,
        })
    }

    pub(crate) fn is_consistent(&self, threads: usize) -> bool {
        self.calls.iter().all(|it| it.thread.as_usize() < threads)
            && self.ready.iter().all(|it| it.thread.as_usize() < threads)
            && self.addresses.iter().all(|it| it.thread.as_usize() < threads)
            && self.ring_ends.iter().all(|it| it.thread.as_usize() < threads)
    }
}

/// The descriptors that a call left as ready, with the bits of `poll`.
fn ready_of(call: &IoCallSpan, words: &[u64]) -> Vec<(u64, u64)> {
    /// How many words are read of a list, and of each of three sets; behind them is why the call failed.
    const LIST: usize = 16;
    const SET: usize = 4;
    if call.small_result().is_none_or(|result| result == 0) {
        return Vec::new();
    }
    match call.what() {
        IoCall::Poll if words.len() > LIST => {
            let count = usize::try_from(call.arguments[1]).map_or(LIST, |count| count.min(LIST));
            let ready = |word: &u64| (word & 0xffff_ffff, word >> 48);
            let known = words[..count].iter().filter(|word| **word != NONE);
            known.map(ready).filter(|(_, events)| *events != 0).collect()
        }
        IoCall::Select if words.len() > 3 * SET => {
            let count = u64::from(call.arguments[0] as u32);
            let mut ready = Vec::new();
            for (words, events) in words.chunks(SET).zip([READABLE, WRITABLE, URGENT]) {
                // There is no such set.
                if words.iter().all(|word| *word == NONE) {
                    continue;
                }
                let has = |descriptor: &u64| words[*descriptor as usize / 64] >> (descriptor % 64) & 1 != 0;
                ready.extend((0..count.min(64 * SET as u64)).filter(has).map(|descriptor| (descriptor, events)));
            }
            ready
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(what: IoCall, arguments: [u64; 4], result: i64) -> IoCallSpan {
        IoCallSpan {
            thread: ThreadIndex(0),
            seq: EventSeq(1),
            outer_seq: EventSeq(1),
            start: TraceNanos(1),
            end: TraceNanos(9),
            what: what as u64,
            arguments,
            word: NONE,
            result: Some(result as u64),
        }
    }

    #[test]
    fn a_list_says_which_of_it_are_ready() {
        let mut words =
            vec![3 | READABLE << 32, 4 | READABLE << 32 | READABLE << 48, 5 | WRITABLE << 32 | WRITABLE << 48];
        // What lies behind the list is none of it.
        words.resize(17, 9 | READABLE << 48);
        assert_eq!(ready_of(&call(IoCall::Poll, [0, 3, 0, 0], 2), &words), [(4, READABLE), (5, WRITABLE)]);
        assert_eq!(ready_of(&call(IoCall::Poll, [0, 3, 0, 0], -1), &words), []);
        assert_eq!(ready_of(&call(IoCall::Poll, [0, 3, 0, 0], 2), &[NONE]), []);
        let mut io = IoCalls::default();
        let back = EventDetail { registers: [0; 6], words };
        io.keep(call(IoCall::Poll, [0, 3, 0, 0], 2), Some(&back));
        assert_eq!(io.ready.len(), 2);
        io.keep(call(IoCall::Poll, [0, 40, 0, 0], 30), Some(&back));
        assert_eq!(io.ready.last().map(|it| it.descriptor), Some(None));
    }

    #[test]
    fn sets_say_which_of_them_are_ready() {
        let mut words = vec![1 << 3 | 1 << 9, 1, 0, 0, NONE, NONE, NONE, NONE, 0, 0, 0, 1 << 63];
        words.push(0);
        let ready = |count| ready_of(&call(IoCall::Select, [count, 0, 0, 0], 4), &words);
        assert_eq!(ready(1024), [(3, READABLE), (9, READABLE), (64, READABLE), (255, URGENT)]);
        // What is behind the count means nothing.
        assert_eq!(ready(9), [(3, READABLE)]);
        assert_eq!(ready(u64::MAX).len(), 4);
    }
}
