//! Listens for connections: a thread for each peer, whose decoder bounds what the peer can make us hold.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ada_format::heph::{Decoder, EventCounters, Packet, UnixNanos};

use super::Listening;

/// How soon a peer's thread sees that it is to stop.
const READ_TIMEOUT: Duration = Duration::from_millis(100);
const ACCEPT_INTERVAL: Duration = Duration::from_millis(5);
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
const PIECE: usize = 64 << 10;
/// Of one connection; more are written, but not tracked.
const MAX_STREAMS: usize = 1024;

pub(super) fn listen(listener: &TcpListener, listening: &Listening) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let peers = AtomicUsize::new(0);
    let mut next_flush = Instant::now() + FLUSH_INTERVAL;
    thread::scope(|scope| {
        loop {
            match listener.accept() {
                Ok((stream, peer)) if peers.load(Ordering::Relaxed) < listening.max_peers => {
                    let peers = &peers;
                    peers.fetch_add(1, Ordering::Relaxed);
                    let started = thread::Builder::new().spawn_scoped(scope, move || {
                        serve(stream, peer, listening);
                        peers.fetch_sub(1, Ordering::Relaxed);
                    });
                    if started.is_err() {
                        peers.fetch_sub(1, Ordering::Relaxed);
                        turn_away(listening);
                    }
                }
                Ok(_) => turn_away(listening),
                // Nobody waits, or (out of files, or the peer is gone) not now: a listener goes on.
                Err(_) if listening.stop.is_asked() => break,
                Err(_) => thread::sleep(ACCEPT_INTERVAL),
            }
            if listening.stop.is_urgent() {
                break;
            }
            if Instant::now() >= next_flush {
                listening.recorder().flush();
                next_flush = Instant::now() + FLUSH_INTERVAL;
            }
        }
    });
    Ok(())
}

fn turn_away(listening: &Listening) {
    listening.tally().turned_away();
}

/// Records the packets of one peer until it is done, or all is.
fn serve(mut stream: TcpStream, address: SocketAddr, listening: &Listening) {
    let mut peer = Peer {
        decoder: Decoder::with_max_packet(listening.max_packet),
        counters: EventCounters::with_max_streams(MAX_STREAMS),
        epoch: None,
    };
    // A connection that fails is one that ends: what came whole is kept.
    if peer.receive(&mut stream, listening).is_err() {
        peer.finish(listening);
    }
    let mut tally = listening.tally();
    tally.malformed(peer.decoder.totals());
    tally.peer(address, &peer.counters);
}

struct Peer {
    decoder: Decoder,
    counters: EventCounters,
    epoch: Option<UnixNanos>,
}

impl Peer {
    fn receive(&mut self, stream: &mut TcpStream, listening: &Listening) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let mut piece = vec![0; PIECE];
        while !listening.stop.is_urgent() {
            match stream.read(&mut piece) {
                Ok(0) => {
                    self.finish(listening);
                    break;
                }
                Ok(length) => {
                    self.decoder.push(&piece[..length]);
                    if !self.record(listening) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The rest of a packet that we do not wait for is not the peer's mistake, so this is no `finish`.
                Err(error) if is_timeout(&error) && listening.stop.is_asked() => break,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn finish(&mut self, listening: &Listening) {
        self.decoder.finish();
        self.record(listening);
    }

    /// Records what the decoder has, all under one lock. Says whether there is to be more.
    fn record(&mut self, listening: &Listening) -> bool {
        let mut recorder = listening.recorder();
        while let Some(found) = self.decoder.next_packet() {
            let Ok(framed) = found else { continue };
            if !recorder.record(&framed, &mut self.epoch) {
                return false;
            }
            if let Packet::Event(event) = framed.packet {
                self.counters.record(event.head.stream, event.head.counter);
            }
        }
        !recorder.is_closed()
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
