//! Datagrams that are sent to an address. Many may send to one socket, and some of what they send may get lost, so that nothing can be
//! counted: who has sent one is known where the address that it came from is a socket's of the session, and nothing had been
//! there before.

use std::collections::HashMap;

use ada_event::TraceNanos;

use super::objects::Objects;
use super::streams::{CallPlace, Piece, Source};
use super::tables::ObjectIndex;
use crate::socket_address::covers;

/// Calls that are looked through for those that took long.
const MANY: usize = 256;

/// All that were sent.
#[derive(Default)]
pub(super) struct Letters {
    sent: Vec<Letter>,
    /// By the socket that gets them, in the order of the calls' starts.
    boxes: HashMap<ObjectIndex, Vec<Letter>>,
    /// The calls that take them, likewise.
    taken: HashMap<ObjectIndex, Vec<Piece>>,
    /// When each call ended that took one, of a socket and of an address that it came from; and when each began that sent one, to a
    /// socket and from a socket. Without the second, all of the first.
    taken_times: HashMap<(ObjectIndex, Option<String>), Vec<TraceNanos>>,
    sent_times: HashMap<(ObjectIndex, Option<ObjectIndex>), Vec<TraceNanos>>,
}

/// One that was sent.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    piece: Piece,
    pub(super) from: ObjectIndex,
    to: String,
}

impl Letters {
    pub(super) fn send(&mut self, from: ObjectIndex, to: String, piece: Piece) {
        if piece.bytes > 0 {
            self.sent.push(Letter { piece, from, to });
        }
    }

    pub(super) fn take(&mut self, by: ObjectIndex, from: Option<String>, piece: Piece) {
        self.taken.entry(by).or_default().push(piece);
        if piece.bytes > 0 {
            let keys = from.map(Some).into_iter().chain([None]);
            keys.for_each(|from| self.taken_times.entry((by, from)).or_default().push(piece.end));
        }
    }

    /// Puts each where it goes: to who has its address, or the port of all addresses.
    pub(super) fn deliver(&mut self, objects: &Objects) {
        let mut by_address: HashMap<&str, Vec<ObjectIndex>> = HashMap::new();
        let mut by_port: HashMap<&str, Vec<ObjectIndex>> = HashMap::new();
        for (at, object) in objects.all.iter().enumerate().filter(|(_, it)| it.is_of_datagrams && !it.local.is_empty())
        {
            by_address.entry(&object.local).or_default().push(ObjectIndex(at));
            by_port.entry(port_of(&object.local)).or_default().push(ObjectIndex(at));
        }
        for letter in self.sent.drain(..) {
            let exact = by_address.get(letter.to.as_str());
            let wide = || {
                let same_port = by_port.get(port_of(&letter.to)).into_iter().flatten();
                same_port.filter(|it| covers(&objects.all[it.0].local, &letter.to)).copied().collect()
            };
            for receiver in exact.cloned().unwrap_or_else(wide) {
                for from in [Some(letter.from), None] {
                    self.sent_times.entry((receiver, from)).or_default().push(letter.piece.start);
                }
                self.boxes.entry(receiver).or_default().push(letter.clone());
            }
        }
        self.boxes.values_mut().for_each(|it| it.sort_by_key(|letter| (letter.piece.start, letter.piece.end)));
        self.taken.values_mut().for_each(|it| it.sort_by_key(|piece| (piece.start, piece.end)));
        self.taken_times.values_mut().for_each(|it| it.sort_unstable());
        self.sent_times.values_mut().for_each(|it| it.sort_unstable());
    }

    /// Those that were sent to a socket between two moments, by their ends.
    pub(super) fn meanwhile(&self, to: ObjectIndex, start: TraceNanos, end: TraceNanos) -> Vec<&Letter> {
        let all = self.boxes.get(&to).map_or(&[][..], Vec::as_slice);
        let begun = &all[..all.partition_point(|it| it.piece.start <= end)];
        let mut found: Vec<&Letter> = begun.iter().rev().take(MANY).filter(|it| it.piece.end >= start).collect();
        found.sort_by_key(|it| it.piece.end);
        found
    }

    /// Whose may have made a socket readable.
    pub(super) fn sent_meanwhile(&self, to: ObjectIndex, start: TraceNanos, end: TraceNanos) -> Source {
        self.first_of(to, None, start, self.meanwhile(to, start, end))
    }

    /// The first of several that are sorted by their ends, certain where it was sent before the others. One whose call had begun before
    /// may have been taken before, and has been where as many were taken as were sent by then.
    pub(super) fn first_of(
        &self,
        to: ObjectIndex,
        source: Option<&str>,
        start: TraceNanos,
        mut letters: Vec<&Letter>,
    ) -> Source {
        fn before<K: std::hash::Hash + Eq>(times: &HashMap<K, Vec<TraceNanos>>, key: &K, start: TraceNanos) -> usize {
            times.get(key).map_or(0, |times| times.partition_point(|it| *it <= start))
        }
        let is_early = |letter: &&Letter| letter.piece.start <= start;
        let are_taken = |letter: &Letter| {
            let from = source.map(|_| letter.from);
            before(&self.sent_times, &(to, from), start)
                == before(&self.taken_times, &(to, source.map(str::to_owned)), start)
        };
        letters.retain(|letter| !(is_early(letter) && are_taken(letter)));
        let Some((first, others)) = letters.split_first() else { return Source::Unexplained };
        let is_first = others.iter().all(|it| it.piece.start > first.piece.end);
        match is_first && (others.is_empty() || !is_early(first)) {
            true => Source::Call(first.piece),
            false => Source::Perhaps(first.piece),
        }
    }

    /// Whether nobody else takes from a socket while a call does.
    pub(super) fn is_alone(&self, at: ObjectIndex, call: CallPlace, start: TraceNanos, end: TraceNanos) -> bool {
        let all = self.taken.get(&at).map_or(&[][..], Vec::as_slice);
        let begun = &all[..all.partition_point(|it| it.start <= end)];
        begun.iter().rev().take(MANY).all(|it| it.call == call || it.bytes == 0 || it.end < start)
    }
}

fn port_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(_, port)| port)
}

#[cfg(test)]
mod tests {
    use super::super::objects::{Object, ObjectKind};
    use super::*;

    const TO: ObjectIndex = ObjectIndex(0);
    const FROM: ObjectIndex = ObjectIndex(1);

    fn piece(call: usize, start: u64, end: u64) -> Piece {
        let call = CallPlace { process: 0, call };
        Piece { call, start: TraceNanos(start), end: TraceNanos(end), bytes: 1, has_slept: false }
    }

    fn letters(sent: &[Piece], taken: &[Piece]) -> Letters {
        let socket = |local: &str| Object {
            kind: ObjectKind::Socket,
            local: local.to_owned(),
            is_of_datagrams: true,
            ..Object::default()
        };
        let mut objects = Objects::default();
        objects.all = vec![socket("0.0.0.0:7"), socket("127.0.0.1:9")];
        let mut letters = Letters::default();
        sent.iter().for_each(|it| letters.send(FROM, "127.0.0.1:7".to_owned(), *it));
        taken.iter().for_each(|it| letters.take(TO, Some("127.0.0.1:9".to_owned()), *it));
        letters.deliver(&objects);
        letters
    }

    fn first(letters: &Letters, source: Option<&str>, start: u64, end: u64) -> Source {
        let found = letters.meanwhile(TO, TraceNanos(start), TraceNanos(end));
        letters.first_of(TO, source, TraceNanos(start), found)
    }

    #[test]
    fn what_was_taken_before_is_not_waited_for() {
        let sent = [piece(1, 10, 30), piece(2, 40, 42), piece(3, 44, 45)];
        let source = Some("127.0.0.1:9");
        // The first call comes back while its datagram has been taken already.
        let known = letters(&sent, &[piece(11, 5, 15)]);
        assert_eq!(first(&known, source, 20, 43), Source::Call(sent[1]));
        assert_eq!(first(&known, None, 20, 50), Source::Call(sent[1]));
        // Nobody is known to have taken it.
        let unknown = letters(&sent, &[]);
        assert_eq!(first(&unknown, source, 20, 43), Source::Perhaps(sent[0]));
        assert_eq!(first(&unknown, source, 20, 35), Source::Call(sent[0]));
        assert_eq!(first(&unknown, source, 50, 60), Source::Unexplained);
        assert!(!known.is_alone(TO, CallPlace { process: 0, call: 12 }, TraceNanos(12), TraceNanos(20)));
    }
}
