//! `ada heph send`.

use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use ada_testkit::heph::{EXAMPLE_EVENT, EXAMPLE_METADATA, attribute, event, string};

use crate::run::{command, text};

fn send(trace: &[u8], options: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.heph");
    std::fs::write(&file, trace).unwrap();
    let output = command().args(["heph", "send"]).arg(&file).args(options).output().unwrap();
    (text(&output.stderr).into(), output.status.code())
}

#[test]
fn a_packet_is_a_datagram_and_what_does_not_fit_is_left_out() {
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let long = attribute("long", 4, &string(&"x".repeat(65_500)));
    let trace =
        [EXAMPLE_METADATA.as_slice(), &event((0, 0, 0), (0, 0), "", &[long]), b"garbage", &EXAMPLE_EVENT].concat();

    let (stderr, code) = send(&trace, &["--udp", &listener.local_addr().unwrap().to_string()]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("sent 2 packets, 114 bytes"), "{stderr}");
    assert!(stderr.contains("1 too large for a datagram, 1 malformed"), "{stderr}");
    for expected in [EXAMPLE_METADATA.as_slice(), &EXAMPLE_EVENT] {
        let mut datagram = [0; 1000];
        let length = listener.recv(&mut datagram).unwrap();
        assert_eq!(&datagram[..length], expected);
    }
}

#[test]
fn the_rate_is_kept() {
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let started = std::time::Instant::now();
    let (_, code) = send(&EXAMPLE_METADATA.repeat(100), &["--udp", &address, "--rate", "200"]);
    assert_eq!(code, Some(0));
    assert!(started.elapsed() >= Duration::from_millis(450), "{:?}", started.elapsed());
}

#[test]
fn nobody_there_is_exit_code_4_in_one_line() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (stderr, code) = send(&EXAMPLE_EVENT, &["--tcp", &free]);
    assert_eq!((stderr.lines().count(), code), (1, Some(4)));
    assert!(stderr.contains("is `ada heph listen --tcp` running there?"), "{stderr}");
}

#[test]
fn a_host_without_an_address_is_exit_code_4_in_one_line() {
    let (stderr, code) = send(&EXAMPLE_EVENT, &["--tcp", "no-such-host.invalid:9000"]);
    assert_eq!((stderr.lines().count(), code), (1, Some(4)));
    assert!(stderr.contains("check the host's name"), "{stderr}");
}
