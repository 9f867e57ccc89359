//! Who sent the datagram that a call got.

use super::finder::Finder;
use super::letters::Letter;
use super::objects::ObjectKind;
use super::streams::{CallPlace, Source};
use super::tables::ObjectIndex;
use crate::io_call_span::IoCallSpan;
use crate::socket_address::{covers, is_of_this_machine};

impl Finder<'_> {
    /// Whether others send to it by its address.
    pub(super) fn is_mailbox(&self, object: ObjectIndex) -> bool {
        let object = self.object(object);
        object.kind == ObjectKind::Socket && object.is_of_datagrams && !object.local.is_empty()
    }

    /// Where a datagram goes: where its call says, or to what its socket is connected to.
    pub(super) fn addressee(&self, from: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> Option<String> {
        let socket = self.object(from);
        let peer = || socket.peer.map(|peer| self.object(peer).local.clone()).filter(|it| !it.is_empty());
        let said = self.processes[place.process].io.address_of(call).map(str::to_owned);
        let connected = || Some(socket.remote.clone()).filter(|it| !it.is_empty());
        said.or_else(connected).or_else(peer).filter(|_| socket.is_of_datagrams)
    }

    /// Who sent what a call got. The flag says whether that is proved: the call slept, so that nothing was there when it came; what it got
    /// says the address of who sent it; and that is a socket's of this session, on this machine.
    pub(super) fn received(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let io = &self.processes[place.process];
        let receiver = self.object(object);
        let connected = Some(receiver.remote.as_str()).filter(|it| !it.is_empty());
        let source = io.io.address_of(call).or(connected);
        let is_from = |letter: &&&Letter| {
            let local = &self.object(letter.from).local;
            source.is_none_or(|source| local.is_empty() || covers(local, source))
        };
        let meanwhile = self.letters.meanwhile(object, call.start, call.end);
        let letters: Vec<&Letter> = meanwhile.iter().filter(is_from).copied().collect();
        let is_known = |letter: &&Letter| {
            let sender = self.object(letter.from);
            sender.is_made_here && !sender.local.is_empty()
        };
        let is_proved = source.is_some_and(is_of_this_machine)
            && receiver.is_made_here
            && letters.iter().all(is_known)
            && call.end < self.known_until
            && self.letters.is_alone(object, place, call.start, call.end)
            && (io.has_slept)(call.thread, call.start, call.end);
        (self.letters.first_of(object, source, call.start, letters), is_proved)
    }
}
