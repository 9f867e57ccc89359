//! Any bytes as an index file: read or refused, and both ways of reading agree.
#![no_main]
use ada_event::EventSeq;
use ada_format::atf::IndexView;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(view) = IndexView::parse(bytes) else { return };
    assert!(view.len() <= bytes.len() as u64 / 32);
    assert!(view.events().eq((0..view.len()).map_while(|seq| view.event(EventSeq(seq)))));
    assert_eq!(view.event(EventSeq(view.len())), None);
    for damage in view.verify() {
        assert!(!damage.to_string().contains('\n'));
    }
});
