//! Any bytes as a detail file: read or refused, and both ways of reading agree.
#![no_main]
use ada_event::DetailSeq;
use ada_format::atf::DetailView;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(view) = DetailView::parse(bytes) else { return };
    let mut count = 0;
    for record in view.records() {
        let Ok(record) = record else { break };
        assert_eq!(view.record(DetailSeq(count)), Some(record));
        let _ = record.payload();
        count += 1;
    }
    assert_eq!(view.record(DetailSeq(count)), None);
    assert!(count as usize <= bytes.len() / 24);
    let _ = view.verify();
});
