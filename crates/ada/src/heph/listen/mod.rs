//! `ada heph listen`.

mod datagram_queue;
mod drops;
mod recorder;
mod stop;
mod tally;
mod tcp;
mod udp;

use std::fs::{File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;

use self::recorder::Recorder;
use self::stop::Stop;
use self::tally::Tally;
use super::address::{Address, Endpoint, EndpointArgs};
use crate::exit::{Blame, Outcome, say};
use crate::quantity::parse_duration;

const EXAMPLES: &str = "\
Examples:
  ada heph listen --udp 9000 --output trace.heph
  ada heph listen --tcp 0.0.0.0:9000 --output trace.heph --duration 10m

Listens only on this machine unless a host is given; port 0 takes any free port, and stderr says which. Whole, valid \
packets of all peers are written in the order of arrival; malformed ones are counted and left out. Ctrl-C (or \
SIGTERM) writes out what has arrived and prints the counts. The exit code is 1 if packets were malformed, missed, \
dropped by the system or turned away.

Events lost on the way show as gaps in their stream's counters. What was lost before the first or after the last event \
of a stream leaves no gap, so the range of the counters is printed too, to compare with the sender's.";

/// Receive packets from any number of peers into a file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Args {
    #[command(flatten)]
    endpoint: EndpointArgs,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,

    /// Reject packets that claim more bytes than this; each TCP peer may use about twice as much memory
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_packet: u32,

    /// TCP: accept at most this many peers at once. UDP: track the counters of at most this many
    #[arg(long, value_name = "PEERS", default_value_t = 256)]
    max_peers: usize,

    /// Stop after this many packets
    #[arg(long, value_name = "PACKETS")]
    count: Option<NonZeroU64>,

    /// Stop after this time, such as 500ms, 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
}

/// What the listeners of both transports share.
struct Listening {
    stop: Stop,
    recorder: Mutex<Recorder>,
    tally: Mutex<Tally>,
    max_packet: u32,
    max_peers: usize,
}

impl Listening {
    /// A thread that panicked leaves counts and whole packets behind, so a poisoned lock is as good as another.
    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(in super::super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    // The address before the file: a port that is taken must not leave an empty file behind.
    let socket = Socket::bind(&args.endpoint)?;
    let output = create(args)?;
    let stop = Stop::on_signals(args.duration).context("cannot listen for signals")?;
    let listening = Listening {
        recorder: Mutex::new(Recorder::new(output, args.count, stop.clone())),
        stop,
        tally: Mutex::new(Tally::default()),
        max_packet: args.max_packet,
        max_peers: args.max_peers,
    };
    say(format_args!("listening on {}\n", socket.address()?));
    let listened = match &socket {
        Socket::Udp(socket) => udp::listen(socket, &listening),
        Socket::Tcp(socket) => tcp::listen(socket, &listening),
    };

    let name = args.output.display();
    let recorder = listening.recorder.into_inner().unwrap_or_else(PoisonError::into_inner);
    let recorded = recorder
        .finish()
        .map_err(|error| match error.kind() {
            // Not the quiet end that a closed standard output is: packets are lost.
            io::ErrorKind::BrokenPipe => io::Error::other("nobody reads this pipe any more"),
            _ => error,
        })
        .output_failed(|| format!("cannot write {name}; is the disk full?"))?;
    let tally = listening.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(format_args!("received {} packets, {} bytes into {name}\n{tally}", recorded.packets, recorded.bytes));
    listened.output_failed(|| "cannot go on listening; what was received is kept".into())?;
    Ok(if tally.is_whole() { Outcome::Clean } else { Outcome::Findings })
}

fn create(args: &Args) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let created = options.open(&args.output);
    let exists = matches!(&created, Err(error) if error.kind() == io::ErrorKind::AlreadyExists);
    created.output_failed(|| {
        let advice = match () {
            () if args.output.is_dir() => "it is a folder, give a file",
            () if exists => "use --force to overwrite it",
            () => "check the path",
        };
        format!("cannot create {}; {advice}", args.output.display())
    })
}

enum Socket {
    Udp(std::net::UdpSocket),
    Tcp(std::net::TcpListener),
}

impl Socket {
    fn bind(endpoint: &EndpointArgs) -> anyhow::Result<Self> {
        let failed = |address: &Address| {
            let address = address.to_string();
            move || format!("cannot listen on {address}; is the port taken?")
        };
        Ok(match endpoint.get() {
            Endpoint::Udp(address) => {
                Self::Udp(std::net::UdpSocket::bind(&*address.resolve()?).output_failed(failed(address))?)
            }
            Endpoint::Tcp(address) => {
                Self::Tcp(std::net::TcpListener::bind(&*address.resolve()?).output_failed(failed(address))?)
            }
        })
    }

    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Udp(socket) => socket.local_addr(),
            Self::Tcp(socket) => socket.local_addr(),
        }
    }
}
