//! Listens for datagrams: one thread takes them from the system, another decodes and writes.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ada_format::heph::{EventCounters, Packet, Packets, UnixNanos};

use super::Listening;
use super::datagram_queue::{DatagramQueue, Datagrams};
use super::drops;

/// How soon the listener sees that it is to stop.
const READ_TIMEOUT: Duration = Duration::from_millis(100);
/// How often the writer comes for the datagrams.
const WRITE_INTERVAL: Duration = Duration::from_millis(2);
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
const LARGEST_DATAGRAM: usize = 65_535;
/// Of one peer; more are written, but not tracked.
const MAX_STREAMS: usize = 1024;

pub(super) fn listen(socket: &UdpSocket, listening: &Listening) -> io::Result<()> {
    socket.set_read_timeout(Some(READ_TIMEOUT))?;
    let queue = DatagramQueue::default();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| write(&queue, &done, listening));
        let received = receive(socket, &queue, listening);
        listening.tally().dropped(drops::of(socket));
        // Release pairs with Acquire in `write`: who sees that we are done also sees the last datagram.
        done.store(true, Ordering::Release);
        received
    })
}

fn receive(socket: &UdpSocket, queue: &DatagramQueue, listening: &Listening) -> io::Result<()> {
    let mut datagram = vec![0; LARGEST_DATAGRAM];
    while !listening.stop.is_urgent() {
        match socket.recv_from(&mut datagram) {
            Ok((length, sender)) => queue.push(sender, &datagram[..length]),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if listening.stop.is_asked() => break,
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

fn write(queue: &DatagramQueue, done: &AtomicBool, listening: &Listening) {
    let mut writer = Writer { listening, peers: HashMap::new(), untracked: 0 };
    let mut datagrams = Datagrams::default();
    let mut next_flush = Instant::now() + FLUSH_INTERVAL;
    loop {
        let last = done.load(Ordering::Acquire);
        queue.swap(&mut datagrams);
        writer.record(&datagrams);
        if last {
            break;
        }
        if Instant::now() >= next_flush {
            listening.recorder().flush();
            next_flush = Instant::now() + FLUSH_INTERVAL;
        }
        thread::sleep(WRITE_INTERVAL);
    }
    writer.finish();
}

struct Writer<'a> {
    listening: &'a Listening,
    peers: HashMap<SocketAddr, Peer>,
    untracked: u64,
}

struct Peer {
    counters: EventCounters,
    epoch: Option<UnixNanos>,
}

impl Default for Peer {
    fn default() -> Self {
        Self { counters: EventCounters::with_max_streams(MAX_STREAMS), epoch: None }
    }
}

impl Writer<'_> {
    fn record(&mut self, datagrams: &Datagrams) {
        for (sender, datagram) in datagrams.iter() {
            let mut packets = Packets::with_max_packet(datagram, self.listening.max_packet);
            for framed in packets.by_ref().flatten() {
                let is_tracked = self.tracks(sender);
                let peer = is_tracked.then(|| self.peers.entry(sender).or_default());
                let mut unknown = None;
                let (counters, epoch) = match peer {
                    Some(Peer { counters, epoch }) => (Some(counters), epoch),
                    None => (None, &mut unknown),
                };
                if !self.listening.recorder().record(&framed, epoch) {
                    return;
                }
                if let Packet::Event(event) = framed.packet {
                    counters.into_iter().for_each(|it| it.record(event.head.stream, event.head.counter));
                    self.untracked += u64::from(!is_tracked);
                }
            }
            let totals = packets.totals();
            if totals.malformed > 0 {
                self.listening.tally().malformed(totals);
            }
        }
    }

    /// Whether the counters of a peer are followed: it is one of the first that came, since addresses can be made up.
    fn tracks(&self, sender: SocketAddr) -> bool {
        self.peers.len() < self.listening.max_peers || self.peers.contains_key(&sender)
    }

    fn finish(self) {
        let mut tally = self.listening.tally();
        tally.untracked(self.untracked);
        let mut peers: Vec<_> = self.peers.into_iter().collect();
        peers.sort_unstable_by_key(|(address, _)| *address);
        for (address, peer) in &peers {
            tally.peer(*address, &peer.counters);
        }
    }
}
