//! `ada heph listen`, mostly with `ada heph send` at the other end.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ada_format::heph::{Packet, Packets};
use ada_testkit::heph::{EXAMPLE_EVENT, EXAMPLE_METADATA, event, metadata, numbered_events};

use super::listener::Listener;
use crate::run::{command, text};

fn start_sending(file: &Path, options: &[&str]) -> Child {
    command().args(["heph", "send"]).arg(file).args(options).stderr(Stdio::null()).spawn().unwrap()
}

/// The stream and the counter of each event, by hand: packets of the trace are sound, as the listener promises.
fn stream_and_counter(trace: &[u8]) -> Vec<(u32, u32)> {
    let number = |at: usize| u32::from_be_bytes(trace[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (0, Vec::new());
    while at < trace.len() {
        assert_eq!(number(at), 0xC1FC_1FB7, "an event starts at byte {at}");
        found.push((number(at + 8), number(at + 12)));
        at += number(at + 4) as usize;
    }
    assert_eq!(at, trace.len());
    found
}

#[test]
fn udp_reports_exactly_what_was_lost_of_200_000_events() {
    const EVENTS: u32 = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.heph");
    std::fs::write(&file, numbered_events(5, EVENTS)).unwrap();

    let listener = Listener::start("--udp", &[]);
    let mut sender = start_sending(&file, &["--udp", &listener.address, "--rate", "50000"]);
    assert!(sender.wait().unwrap().success());
    let heard = listener.stop();

    let counters: BTreeSet<u32> = stream_and_counter(&heard.trace).into_iter().map(|(_, counter)| counter).collect();
    let (first, last) = (*counters.first().unwrap(), *counters.last().unwrap());
    let lost = u64::from(last - first + 1) - counters.len() as u64;
    println!("{} of {EVENTS} arrived, {lost} lost between {first} and {last}", counters.len());
    println!("{}", heard.said);

    let is_whole = lost == 0 && !heard.said.contains("the system dropped");
    assert_eq!(heard.code, Some(i32::from(!is_whole)));
    assert_eq!(heard.number_before(" received, "), counters.len() as u64);
    assert_eq!(heard.number_before(" missed, "), lost);
    assert_eq!(heard.number_after("missed "), lost);
    assert_eq!(heard.number_after("counters "), u64::from(first));
    assert_eq!(heard.number_after(" to "), u64::from(last));
    // What no counter shows, before the first event and after the last, is the rest of what was sent.
    let unknowable = u64::from(first) + u64::from(EVENTS - 1 - last);
    assert_eq!(counters.len() as u64 + lost + unknowable, u64::from(EVENTS));
}

#[test]
fn tcp_loses_nothing_with_50_peers_at_once() {
    const PEERS: u32 = 50;
    const EVENTS_EACH: u32 = 4000;
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::start("--tcp", &["--count", "200000"]);
    let senders: Vec<Child> = (0..PEERS)
        .map(|peer| {
            let file = folder.path().join(format!("{peer}.heph"));
            std::fs::write(&file, numbered_events(peer, EVENTS_EACH)).unwrap();
            start_sending(&file, &["--tcp", &listener.address])
        })
        .collect();
    for mut sender in senders {
        assert!(sender.wait().unwrap().success());
    }
    let heard = listener.wait(Duration::from_secs(300));

    assert_eq!(heard.code, Some(0));
    assert_eq!(heard.number_after("peers "), 50, "{}", heard.said);
    assert_eq!(heard.number_after("received "), 200_000);
    assert_eq!(heard.number_after("missed "), 0);
    let mut next = [0; PEERS as usize];
    for (stream, counter) in stream_and_counter(&heard.trace) {
        assert_eq!(counter, next[stream as usize], "stream {stream} is in order");
        next[stream as usize] += 1;
    }
    assert_eq!(next, [EVENTS_EACH; PEERS as usize]);
}

#[test]
fn malformed_input_is_counted_and_left_out() {
    let listener = Listener::start("--tcp", &["--max-packet", "1000"]);
    let mut peer = TcpStream::connect(&listener.address).unwrap();
    peer.write_all(&[&EXAMPLE_EVENT, b"garbage".as_slice(), &EXAMPLE_METADATA, &EXAMPLE_EVENT[..50]].concat()).unwrap();
    drop(peer);
    let heard = listener.stop();
    assert_eq!(heard.trace, [EXAMPLE_EVENT.as_slice(), &EXAMPLE_METADATA].concat());
    assert_eq!((heard.number_after("malformed "), heard.number_after("skipped ")), (2, 57), "{}", heard.said);
    assert_eq!(heard.code, Some(1));
}

#[test]
fn a_datagram_may_hold_several_packets() {
    let listener = Listener::start("--udp", &["--count", "2"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"garbage", &listener.address).unwrap();
    socket.send_to(&[EXAMPLE_METADATA.as_slice(), &EXAMPLE_EVENT].concat(), &listener.address).unwrap();
    let heard = listener.wait(Duration::from_secs(120));
    assert_eq!(heard.trace, [EXAMPLE_METADATA.as_slice(), &EXAMPLE_EVENT].concat());
    assert_eq!((heard.number_after("malformed "), heard.code), (1, Some(1)));
}

#[test]
fn peers_beyond_the_limit_are_turned_away() {
    let listener = Listener::start("--tcp", &["--max-peers", "1", "--count", "1"]);
    let mut first = TcpStream::connect(&listener.address).unwrap();
    let second = TcpStream::connect(&listener.address).unwrap();
    second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!((&second).read(&mut [0]).unwrap(), 0, "the second connection is closed");
    first.write_all(&EXAMPLE_EVENT).unwrap();
    let heard = listener.wait(Duration::from_secs(120));
    assert_eq!((heard.number_after("turned away "), heard.number_after("received ")), (1, 1), "{}", heard.said);
    assert_eq!(heard.code, Some(1));
}

/// A listener that is stopped takes nothing, and the system keeps little.
#[test]
fn what_the_system_drops_is_counted() {
    const SENT: u32 = 20_000;
    let listener = Listener::start("--udp", &[]);
    let signal = |name: &str| {
        let sent = Command::new("kill").args(["-s", name, &listener.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    signal("STOP");
    for _ in 0..SENT {
        socket.send_to(&EXAMPLE_EVENT, &listener.address).unwrap();
    }
    signal("CONT");
    let heard = listener.stop();
    let [received, dropped] = ["received ", "the system dropped "].map(|words| heard.number_after(words));
    assert!(dropped > 0, "{}", heard.said);
    assert_eq!((received + dropped, heard.code), (u64::from(SENT), Some(1)), "{}", heard.said);
}

/// Peers take turns, each with an epoch of its own. Whoever reads the file finds it before the events that it holds for.
#[test]
fn every_peer_has_its_own_epoch() {
    const EPOCHS: [u64; 2] = [5_000_000, 2_000_000];
    const EVENTS: u32 = 20;
    let listener = Listener::start("--tcp", &[]);
    let mut peers = EPOCHS.map(|epoch| {
        let mut peer = TcpStream::connect(&listener.address).unwrap();
        peer.write_all(&metadata("epoch", &epoch.to_be_bytes())).unwrap();
        peer
    });
    for counter in 0..EVENTS {
        for (stream, peer) in (0..).zip(&mut peers) {
            peer.write_all(&event((stream, counter, 0), (u64::from(counter), u64::from(counter)), "work", &[]))
                .unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    drop(peers);
    let heard = listener.stop();
    assert_eq!((heard.number_after("received "), heard.code), (u64::from(2 + 2 * EVENTS), Some(0)), "{}", heard.said);
    let (mut epoch, mut said, mut seen) = (None, 0, 0);
    for framed in Packets::new(&heard.trace) {
        match framed.unwrap().packet {
            Packet::Metadata(metadata) => {
                epoch = metadata.epoch();
                said += 1;
            }
            Packet::Event(event) => {
                assert_eq!(epoch.unwrap().0, EPOCHS[event.head.stream.0 as usize]);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 2 * EVENTS);
    assert!(said > 2, "they took turns");

    let sessions = tempfile::tempdir().unwrap();
    let file = sessions.path().join("trace.heph");
    std::fs::write(&file, &heard.trace).unwrap();
    let imported = command().args(["import", "heph"]).arg(&file).arg("--output").arg(sessions.path()).output().unwrap();
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    let query = "SELECT thread_id, min(time_ns) FROM events GROUP BY thread_id ORDER BY thread_id";
    let answer = command().args(["query", "--format", "csv"]).arg(sessions.path()).arg(query).output().unwrap();
    let [first, second] = EPOCHS.map(|epoch| epoch - EPOCHS[1]);
    let rows: Vec<&str> = text(&answer.stdout).lines().skip(1).map(|row| row.rsplit_once(',').unwrap().1).collect();
    assert_eq!(rows, [first.to_string(), second.to_string()]);
}

#[test]
fn a_file_that_exists_is_not_overwritten_unless_forced() {
    let listener = Listener::start("--udp", &["--duration", "100ms"]);
    let file = listener.file();
    let again = command().args(["heph", "listen", "--udp", "0", "--output"]).arg(&file).output().unwrap();
    assert_eq!(again.status.code(), Some(4));
    assert!(text(&again.stderr).contains("use --force"), "{}", text(&again.stderr));
    let forced = ["heph", "listen", "--udp", "0", "--force", "--duration", "1ms", "--output"];
    assert_eq!(command().args(forced).arg(&file).output().unwrap().status.code(), Some(0));
    assert_eq!(listener.wait(Duration::from_secs(120)).code, Some(0));
}

#[test]
fn a_folder_is_not_taken_for_a_file_to_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let output = command().args(["heph", "listen", "--udp", "0", "--output"]).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("it is a folder"), "{}", text(&output.stderr));
}

/// A command that prints to a closed pipe ends quietly. Packets that go to one are lost, which is not quiet.
#[test]
fn packets_that_nobody_reads_are_exit_code_4() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut listener = command()
        .args(["heph", "listen", "--udp", "0", "--force", "--count", "1", "--duration", "20s", "--output"])
        .arg(&pipe)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(std::fs::File::open(&pipe).unwrap());
    let mut stderr = BufReader::new(listener.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("listening on ").unwrap().to_owned();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&EXAMPLE_EVENT, address).unwrap();
    assert_eq!(listener.wait().unwrap().code(), Some(4));
    stderr.read_to_string(&mut said).unwrap();
    assert!(said.contains("nobody reads this pipe any more"), "{said}");
}
