//! What goes from those who write to those who read.
//!
//! A pipe, or one direction of a connection, is a row of bytes. Reads take them in the order in which writes gave them, so that the
//! sums of both tell which write a byte came from. Where calls overlap, or some are missing, that is not certain.

use ada_event::TraceNanos;

/// A call, by the places of its process and its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallPlace {
    pub(super) process: usize,
    pub(super) call: usize,
}

/// A call that gave bytes, or took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) call: CallPlace,
    pub(super) start: TraceNanos,
    pub(super) end: TraceNanos,
    pub(super) bytes: u64,
    /// Whether its thread certainly slept in it.
    pub(super) has_slept: bool,
}

/// Everything that went through one.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// By their starts.
    writes: Vec<Piece>,
    /// By their ends.
    reads: Vec<Piece>,
    /// The position behind each write, and each read.
    written: Vec<u64>,
    read: Vec<u64>,
    /// Taken for a counter: what each read was waiting for, and whether that is sure.
    counted: Vec<Option<(Piece, bool)>>,
    /// What ended it, or may have: calls that closed the end that writes.
    closes: Vec<Piece>,
    /// The time from which on somebody's bytes are not known.
    known_until: Option<TraceNanos>,
}

/// Calls that are looked through for one that took long.
const MANY: usize = 256;

/// Which call a wait was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// This one, and no other.
    Call(Piece),
    /// This one, or another at the same time.
    Perhaps(Piece),
    /// What was waited for had been there before.
    WasThere,
    /// The calls that are known do not explain it.
    Unexplained,
}

impl Stream {
    pub(super) fn add_write(&mut self, piece: Piece) {
        self.writes.push(piece);
    }

    pub(super) fn add_read(&mut self, piece: Piece) {
        self.reads.push(piece);
    }

    pub(super) fn add_close(&mut self, piece: Piece) {
        self.closes.push(piece);
    }

    /// A call whose bytes are not known.
    pub(super) fn lose_count(&mut self, time: TraceNanos) {
        self.known_until = Some(self.known_until.map_or(time, |before| before.min(time)));
    }

    /// Nothing more comes: puts everything in its order.
    pub(super) fn finish(&mut self) {
        self.writes.sort_unstable_by_key(|it| (it.start, it.end));
        self.reads.sort_unstable_by_key(|it| (it.end, it.start));
        self.closes.sort_unstable_by_key(|it| (it.start, it.end));
        let sums = |pieces: &[Piece]| {
            let mut sum = 0_u64;
            pieces.iter().map(|it| (sum = sum.saturating_add(it.bytes), sum).1).collect()
        };
        (self.written, self.read) = (sums(&self.writes), sums(&self.reads));
        self.counted = counted(&self.writes, &self.reads);
    }

    /// Whose bytes a read took first.
    pub(super) fn source_of_read(&self, call: CallPlace, start: TraceNanos, end: TraceNanos) -> Source {
        let first = self.reads.partition_point(|it| it.end < end);
        let Some(at) = self.reads[first..].iter().position(|it| it.call == call).map(|at| first + at) else {
            return Source::Unexplained;
        };
        let taken_before = at.checked_sub(1).map_or(0, |before| self.read[before]);
        // Who of several that read at a time came first is not known.
        let is_alone = |it: &Piece| it.call == call || it.bytes == 0 || it.end < start || it.start > end;
        let are_around = |it: &Piece| it.end >= start && it.start <= end;
        let are_alone = self.reads[first..].iter().take_while(|it| it.start <= end).all(is_alone)
            && self.reads[..first].iter().rev().take_while(|it| are_around(it)).all(is_alone);
        self.source_at(taken_before, self.read[at], start, end, are_alone)
    }

    /// Whose bytes were the first that nobody had read when a wait for them began.
    pub(super) fn source_of_readiness(&self, start: TraceNanos, end: TraceNanos) -> Source {
        let before = self.reads.partition_point(|it| it.end <= start);
        let taken = before.checked_sub(1).map_or(0, |at| self.read[at]);
        // Somebody else may read meanwhile.
        let is_alone = !self.reads[before..].iter().take(MANY).any(|it| it.start < end && it.bytes > 0);
        self.source_at(taken, taken + 1, start, end, is_alone)
    }

    fn source_at(&self, position: u64, until: u64, start: TraceNanos, end: TraceNanos, is_alone: bool) -> Source {
        let begun = self.writes.partition_point(|it| it.start <= end);
        let given = begun.checked_sub(1).map_or(0, |at| self.written[at]);
        let is_counted = self.known_until.is_none_or(|time| time > end);
        if given < until || !is_counted {
            return Source::Unexplained;
        }
        let at = self.written.partition_point(|sum| *sum <= position);
        let Some(&write) = self.writes.get(at) else { return Source::Unexplained };
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| self.writes.get(at));
        let overlaps = |other: &Piece| other.bytes > 0 && other.start <= write.end && other.end >= write.start;
        let is_certain = is_alone && !neighbours.into_iter().any(overlaps);
        match is_certain {
            _ if write.end < start && is_alone => Source::WasThere,
            true => Source::Call(write),
            false => Source::Perhaps(write),
        }
    }

    /// Who wrote while somebody waited, without counting.
    pub(super) fn source_by_time(&self, start: TraceNanos, end: TraceNanos) -> Source {
        let begun = &self.writes[..self.writes.partition_point(|it| it.start <= end)];
        let mut meanwhile = begun.iter().rev().take(MANY).filter(|it| it.end >= start && it.bytes > 0);
        let Some(first) = meanwhile.clone().min_by_key(|it| it.end) else { return Source::Unexplained };
        match meanwhile.any(|it| it.call != first.call) {
            true => Source::Perhaps(*first),
            false => Source::Call(*first),
        }
    }

    /// Who gave to a counter that a call took from.
    pub(super) fn source_of_count(&self, call: CallPlace, start: TraceNanos, end: TraceNanos) -> Source {
        let first = self.reads.partition_point(|it| it.end < end);
        let at = self.reads[first..].iter().position(|it| it.call == call);
        at.map_or(Source::Unexplained, |at| self.given(first + at, start, end))
    }

    /// Who gave to a counter that somebody waited for, and took from later.
    pub(super) fn source_of_counting(&self, start: TraceNanos, end: TraceNanos) -> Source {
        self.given(self.reads.partition_point(|it| it.end < end), start, end)
    }

    fn given(&self, read: usize, start: TraceNanos, end: TraceNanos) -> Source {
        match self.counted.get(read).copied().flatten() {
            Some((piece, _)) if piece.start > end => Source::Unexplained,
            Some((piece, true)) if piece.end < start => Source::WasThere,
            Some((piece, true)) => Source::Call(piece),
            Some((piece, false)) => Source::Perhaps(piece),
            None => Source::Unexplained,
        }
    }

    /// Who read while a write waited for room. Of several it is not known whose read was the one that was needed.
    pub(super) fn source_of_room(&self, start: TraceNanos, end: TraceNanos) -> Source {
        let first = self.reads.partition_point(|it| it.end < start);
        let meanwhile = self.reads[first..].iter().take(MANY).filter(|it| it.start <= end && it.bytes > 0);
        let Some(last) = meanwhile.clone().max_by_key(|it| it.start) else { return Source::Unexplained };
        if meanwhile.count() > 1 { Source::Perhaps(*last) } else { Source::Call(*last) }
    }

    /// The last call that wrote, or wanted to, before a moment.
    pub(super) fn last_write_before(&self, time: TraceNanos) -> Option<Piece> {
        let begun = self.writes.partition_point(|it| it.start < time);
        self.writes[..begun].last().copied()
    }

    /// Who closed the other end last, before a wait came to its end.
    pub(super) fn source_of_end(&self, start: TraceNanos, end: TraceNanos) -> Source {
        let begun = &self.closes[..self.closes.partition_point(|it| it.start <= end)];
        match begun {
            [] => Source::Unexplained,
            [.., last] if last.end < start => Source::WasThere,
            [.., before, last] if before.end >= last.start => Source::Perhaps(*last),
            [.., last] => Source::Call(*last),
        }
    }
}

/// What made a counter more than zero before each read, which makes it zero again.
fn counted(writes: &[Piece], reads: &[Piece]) -> Vec<Option<(Piece, bool)>> {
    let mut writes = writes.iter().filter(|it| it.bytes > 0).peekable();
    // What may not have been taken yet, and whether it may have been.
    let mut given: Vec<(Piece, bool)> = Vec::new();
    let mut found = Vec::with_capacity(reads.len());
    for read in reads {
        given.extend(std::iter::from_fn(|| writes.next_if(|it| it.start <= read.end)).map(|it| (*it, false)));
        given.sort_by_key(|(it, _)| it.end);
        if read.has_slept {
            // The counter was zero when it came.
            given.retain(|(it, _)| it.end >= read.start);
        }
        if read.bytes == 0 {
            found.push(None);
            continue;
        }
        found.push(given.first().map(|&(first, may_be_gone)| {
            let is_first = given[1..].iter().all(|(it, _)| it.start > first.end);
            (first, !may_be_gone && is_first)
        }));
        let was_there = given.iter().any(|(it, _)| it.end < read.start);
        given.retain(|(it, _)| it.end >= read.start);
        // A read that had to wait has taken what came first.
        if !was_there && !given.is_empty() {
            given.remove(0);
        }
        given.iter_mut().for_each(|(_, may_be_gone)| *may_be_gone = true);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(call: usize, start: u64, end: u64, bytes: u64) -> Piece {
        Piece {
            call: CallPlace { process: 0, call },
            start: TraceNanos(start),
            end: TraceNanos(end),
            bytes,
            has_slept: false,
        }
    }

    fn stream(writes: &[Piece], reads: &[Piece]) -> Stream {
        let mut stream = Stream::default();
        writes.iter().for_each(|it| stream.add_write(*it));
        reads.iter().for_each(|it| stream.add_read(*it));
        stream.finish();
        stream
    }

    fn of_read(stream: &Stream, read: Piece) -> Source {
        stream.source_of_read(read.call, read.start, read.end)
    }

    #[test]
    fn a_byte_comes_from_the_write_that_has_its_position() {
        let writes = [piece(1, 10, 12, 4), piece(2, 20, 22, 4), piece(3, 50, 52, 2)];
        let reads = [piece(11, 5, 13, 3), piece(12, 14, 16, 1), piece(13, 17, 23, 4), piece(14, 53, 55, 2)];
        let stream = stream(&writes, &reads);
        assert_eq!(of_read(&stream, reads[0]), Source::Call(writes[0]));
        // The rest of what had come already.
        assert_eq!(of_read(&stream, reads[1]), Source::WasThere);
        assert_eq!(of_read(&stream, reads[2]), Source::Call(writes[1]));
        assert_eq!(of_read(&stream, reads[3]), Source::WasThere);
        assert_eq!(stream.source_of_readiness(TraceNanos(30), TraceNanos(51)), Source::Call(writes[2]));
        assert_eq!(stream.source_of_readiness(TraceNanos(30), TraceNanos(49)), Source::Unexplained);
    }

    #[test]
    fn what_overlaps_or_is_missing_is_not_certain() {
        let writes = [piece(1, 10, 21, 4), piece(2, 20, 22, 4)];
        let read = piece(11, 5, 25, 4);
        assert_eq!(of_read(&stream(&writes, &[read]), read), Source::Perhaps(writes[0]));
        assert_eq!(of_read(&stream(&writes[..1], &[piece(11, 5, 25, 9)]), piece(11, 5, 25, 9)), Source::Unexplained);
        // Another one reads at the same time.
        let reads = [read, piece(12, 6, 24, 4)];
        assert_eq!(of_read(&stream(&[piece(1, 10, 12, 8)], &reads), read), Source::Perhaps(piece(1, 10, 12, 8)));
        let mut lost = stream(&[piece(1, 10, 12, 4)], &[read]);
        lost.lose_count(TraceNanos(11));
        assert_eq!(of_read(&lost, read), Source::Unexplained);
        assert_eq!(lost.source_by_time(read.start, read.end), Source::Call(piece(1, 10, 12, 4)));
    }

    #[test]
    fn a_counter_is_zero_after_each_read() {
        // The call that writes comes back later than the one that reads.
        let writes = [piece(1, 10, 14, 8), piece(2, 30, 32, 8), piece(3, 34, 36, 8), piece(4, 50, 52, 8)];
        let reads = [piece(11, 5, 13, 8), piece(12, 20, 33, 8), piece(13, 40, 41, 8), piece(14, 45, 53, 8)];
        let stream = stream(&writes, &reads);
        let of = |read: Piece| stream.source_of_count(read.call, read.start, read.end);
        assert_eq!(of(reads[0]), Source::Call(writes[0]));
        assert_eq!(of(reads[1]), Source::Call(writes[1]));
        assert_eq!(of(reads[2]), Source::WasThere);
        assert_eq!(of(reads[3]), Source::Call(writes[3]));
        assert_eq!(stream.source_of_counting(TraceNanos(15), TraceNanos(31)), Source::Call(writes[1]));
    }

    #[test]
    fn what_a_counter_may_have_been_read_with_is_not_certain() {
        let writes = [piece(1, 10, 12, 8), piece(2, 12, 15, 8), piece(3, 30, 32, 8)];
        let reads = [piece(11, 5, 14, 8), piece(12, 20, 33, 8)];
        let stream = stream(&writes, &reads);
        let of = |read: Piece| stream.source_of_count(read.call, read.start, read.end);
        assert_eq!(of(reads[0]), Source::Perhaps(writes[0]));
        assert_eq!(of(reads[1]), Source::Perhaps(writes[1]));
        // Who has to sleep finds nothing.
        let asleep = Piece { has_slept: true, ..reads[1] };
        let stream = self::stream(&writes, &[reads[0], asleep]);
        assert_eq!(stream.source_of_count(asleep.call, asleep.start, asleep.end), Source::Call(writes[2]));
    }

    #[test]
    fn a_write_waits_for_a_read_that_makes_room() {
        let reads = [piece(11, 5, 8, 4), piece(12, 20, 22, 4), piece(13, 40, 42, 4), piece(14, 43, 44, 4)];
        let stream = stream(&[], &reads);
        assert_eq!(stream.source_of_room(TraceNanos(10), TraceNanos(23)), Source::Call(reads[1]));
        assert_eq!(stream.source_of_room(TraceNanos(30), TraceNanos(50)), Source::Perhaps(reads[3]));
        assert_eq!(stream.source_of_room(TraceNanos(23), TraceNanos(39)), Source::Unexplained);
    }

    #[test]
    fn the_last_one_to_close_ends_it() {
        let mut stream = Stream::default();
        let closes = [piece(1, 10, 12, 0), piece(2, 20, 22, 0)];
        closes.iter().for_each(|it| stream.add_close(*it));
        stream.finish();
        assert_eq!(stream.source_of_end(TraceNanos(15), TraceNanos(25)), Source::Call(closes[1]));
        assert_eq!(stream.source_of_end(TraceNanos(5), TraceNanos(13)), Source::Call(closes[0]));
        assert_eq!(stream.source_of_end(TraceNanos(30), TraceNanos(35)), Source::WasThere);
        assert_eq!(stream.source_of_end(TraceNanos(1), TraceNanos(5)), Source::Unexplained);
    }
}
