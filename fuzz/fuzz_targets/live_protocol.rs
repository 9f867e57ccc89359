#![no_main]
use ada_control::Trigger;
use ada_control::function_pattern::matches_function;
use ada_control::live::{Answer, Request};
use ada_event::ImageOffset;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = serde_json::from_slice::<Request>(bytes) {
        let again = serde_json::to_vec(&request).expect("what was read can be written");
        assert_eq!(serde_json::from_slice::<Request>(&again).expect("and read"), request);
        match request {
            Request::Triggers { add, remove } => {
                for text in add.iter().chain(&remove) {
                    let Ok(trigger) = text.parse::<Trigger>() else { continue };
                    assert_eq!(trigger.to_string().parse::<Trigger>().as_ref(), Ok(&trigger));
                }
            }
            Request::Filter { patterns, .. } => {
                let name = Some("std::vector<int>::push_back(int)");
                for pattern in &patterns {
                    matches_function(pattern, Path::new("/lib/libc.so.6"), name, ImageOffset(0x1000));
                }
            }
            _ => (),
        }
    }
    if let Ok(answer) = serde_json::from_slice::<Answer>(bytes) {
        serde_json::to_vec(&answer).expect("what was read can be written");
    }
});
