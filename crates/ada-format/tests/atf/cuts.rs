//! Files cut at every byte, and files with any bit flipped.

use ada_format::atf::{DetailView, IndexView, Manifest};
use ada_testkit::atf::{LINUX, calls, detail, detail_placeholder, index, index_placeholder, record, x86_call};
use proptest::prelude::*;

/// Two versions of a file: finished, and with the header that it had until then.
fn both(finished: Vec<u8>, placeholder: Vec<u8>) -> [Vec<u8>; 2] {
    let unfinished = [&placeholder, &finished[64..]].concat();
    [finished, unfinished]
}

fn details() -> Vec<Vec<u8>> {
    (0..40).map(|n| record(3, n, 5, 1000 + u64::from(n), &x86_call([7; 11], &vec![0xee; n as usize]))).collect()
}

#[test]
fn an_index_cut_anywhere_gives_exactly_its_whole_events() {
    for events in [0, 1, 2, 7] {
        let calls = calls(events, 5);
        for file in both(index(LINUX, 5, false, &calls), index_placeholder(LINUX, 5)) {
            for len in 0..file.len() {
                let view = IndexView::parse(&file[..len]).expect("a cut is damage");
                let whole = (len.saturating_sub(64) / 32).min(events as usize);
                assert!(view.raw_events() == &calls[..whole], "{events} events cut at {len}");
                assert!(!view.damage().is_empty(), "{events} events cut at {len}");
            }
        }
    }
}

#[test]
fn a_detail_file_cut_anywhere_gives_exactly_its_whole_records() {
    let records = details();
    let section = 64 + records.concat().len();
    for file in both(detail(LINUX, 5, &records), detail_placeholder(LINUX, 5)) {
        for len in 0..file.len() {
            let view = DetailView::parse(&file[..len]).expect("a cut is damage");
            let mut end = 64;
            let whole = records.iter().take_while(|record| {
                end += record.len();
                end <= len.min(section)
            });
            assert_eq!(view.records().filter_map(Result::ok).count(), whole.count(), "cut at {len}");
            assert!(!view.damage().is_empty(), "cut at {len}");
        }
    }
}

proptest! {
    #[test]
    fn flipped_bits_never_panic_an_index_reader(events in 0_u64..6, flips in prop::collection::vec((0_usize..256, 0_u32..8), 1..6)) {
        let mut file = index(LINUX, 5, false, &calls(events, 5));
        for (at, bit) in flips {
            let at = at % file.len();
            file[at] ^= 1 << bit;
        }
        if let Ok(view) = IndexView::parse(&file) {
            prop_assert!(view.len() <= file.len() as u64 / 32);
            view.verify();
        }
    }

    #[test]
    fn flipped_bits_never_panic_a_detail_reader(flips in prop::collection::vec((any::<usize>(), 0_u32..8), 1..6)) {
        let mut file = detail(LINUX, 5, &details());
        for (at, bit) in flips {
            let at = at % file.len();
            file[at] ^= 1 << bit;
        }
        if let Ok(view) = DetailView::parse(&file) {
            prop_assert!(view.records().count() <= file.len() / 24);
            let _ = view.verify();
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = IndexView::parse(&bytes).map(|view| view.verify());
        let _ = DetailView::parse(&bytes).map(|view| view.verify());
        let _ = Manifest::parse(&bytes);
    }
}
