//! `ada heph send`.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

use super::address::{Address, Endpoint, EndpointArgs};
use super::complaints::Complaints;
use super::input::{Input, Trace};
use super::pace::Pace;
use crate::exit::{Blame, Outcome, say};

/// The largest payload of a datagram over IPv4.
const MAX_DATAGRAM: usize = 65_507;
/// What a listener with the usual 208 KiB receive buffer keeps up with while it shares its machine.
const UDP_EVENTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20_000).unwrap();
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  ada heph send trace.heph --tcp 9000
  ada heph send - --udp collector:9000 --rate 5000 < trace.heph

Only whole, valid packets are sent. What is malformed, or too large for a datagram, is left out: the first ten of \
each get a line on stderr, the others are counted, and the exit code is then 1.";

/// Send a trace to a listener
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    endpoint: EndpointArgs,

    /// Send at most this many packets per second [default: 20000 for UDP, which loses what comes too fast; no limit for
    /// TCP]
    #[arg(long, value_name = "EVENTS_PER_SECOND")]
    rate: Option<NonZeroU32>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut trace = args.input.open()?;
    let (mut link, rate) = match args.endpoint.get() {
        Endpoint::Udp(address) => (Link::udp(address)?, Some(args.rate.unwrap_or(UDP_EVENTS_PER_SECOND))),
        Endpoint::Tcp(address) => (Link::tcp(address)?, args.rate),
    };
    let sent = send(&mut trace, &mut link, rate)?;

    let malformed = trace.totals().malformed;
    say(format_args!(
        "sent {} packets, {} bytes in {:.1} s; {} too large for a datagram, {malformed} malformed\n",
        sent.packets,
        sent.bytes,
        sent.started.elapsed().as_secs_f64(),
        sent.too_large
    ));
    Ok(if sent.too_large > 0 { Outcome::Findings } else { trace.outcome() })
}

struct Sent {
    started: Instant,
    packets: u64,
    bytes: u64,
    too_large: u64,
}

fn send(trace: &mut Trace, link: &mut Link, rate: Option<NonZeroU32>) -> anyhow::Result<Sent> {
    let mut sent = Sent { started: Instant::now(), packets: 0, bytes: 0, too_large: 0 };
    let mut malformed = Complaints::of("malformed packets");
    let mut too_large = Complaints::of("packets too large for a datagram");
    let mut pace = rate.map(Pace::new);
    let mut progress = Progress::new(sent.started);
    while let Some(found) = trace.next_packet()? {
        let framed = match found {
            Ok(framed) => framed,
            Err(error) => {
                malformed.add(format_args!("malformed: {error}"));
                continue;
            }
        };
        if framed.bytes.len() > link.max_packet() {
            too_large.add(format_args!(
                "byte {}: a packet of {} bytes does not fit into a datagram; send it by TCP",
                framed.offset,
                framed.bytes.len()
            ));
            sent.too_large += 1;
            continue;
        }
        let now = Instant::now();
        if let Some(pause) = pace.as_mut().and_then(|pace| pace.pause(now)) {
            link.flush()?;
            thread::sleep(pause);
        }
        link.send(framed.bytes)?;
        sent.packets += 1;
        sent.bytes += framed.bytes.len() as u64;
        progress.show(now, sent.packets);
    }
    link.flush()?;
    progress.clear();
    Ok(sent)
}

/// A way to a listener.
enum Link {
    Udp(UdpSocket, String),
    Tcp(BufWriter<TcpStream>, String),
}

impl Link {
    fn udp(address: &Address) -> anyhow::Result<Self> {
        let socket = address
            .resolve()?
            .iter()
            .find_map(|target| connected_socket(*target).ok())
            .ok_or_else(|| io::Error::from(io::ErrorKind::HostUnreachable))
            .output_failed(|| format!("cannot reach {address}; check the address"))?;
        Ok(Self::Udp(socket, address.to_string()))
    }

    fn tcp(address: &Address) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&*address.resolve()?)
            .output_failed(|| format!("cannot connect to {address}; is `ada heph listen --tcp` running there?"))?;
        Ok(Self::Tcp(BufWriter::with_capacity(64 << 10, stream), address.to_string()))
    }

    const fn max_packet(&self) -> usize {
        match self {
            Self::Udp(..) => MAX_DATAGRAM,
            Self::Tcp(..) => usize::MAX,
        }
    }

    fn send(&mut self, packet: &[u8]) -> anyhow::Result<()> {
        let done = match self {
            Self::Udp(socket, _) => socket.send(packet).map(drop),
            Self::Tcp(stream, _) => stream.write_all(packet),
        };
        self.check(done)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let done = match self {
            Self::Udp(..) => Ok(()),
            Self::Tcp(stream, _) => stream.flush(),
        };
        self.check(done)
    }

    fn check(&self, done: io::Result<()>) -> anyhow::Result<()> {
        let (Self::Udp(_, address) | Self::Tcp(_, address)) = self;
        done.map_err(|error| match error.kind() {
            // Not the quiet end that a closed standard output is: packets are missing at the listener.
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                io::Error::new(io::ErrorKind::ConnectionAborted, "the listener closed the connection")
            }
            _ => error,
        })
        .output_failed(|| format!("cannot send to {address}; is `ada heph listen` still running there?"))
    }
}

fn connected_socket(target: SocketAddr) -> io::Result<UdpSocket> {
    let any_port = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any_port)?;
    socket.connect(target)?;
    Ok(socket)
}

/// A line on a terminal that says how far a long transfer is.
struct Progress {
    visible: bool,
    next: Instant,
    shown: bool,
}

impl Progress {
    fn new(started: Instant) -> Self {
        Self { visible: io::stderr().is_terminal(), next: started + PROGRESS_INTERVAL, shown: false }
    }

    fn show(&mut self, now: Instant, packets: u64) {
        if self.visible && now >= self.next {
            say(format_args!("\rsent {packets} packets"));
            self.next = now + PROGRESS_INTERVAL;
            self.shown = true;
        }
    }

    fn clear(&self) {
        if self.shown {
            say(format_args!("\r\x1b[K"));
        }
    }
}
