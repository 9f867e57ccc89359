//! Any bytes as derived tables: read or refused. The first byte says which part.
#![no_main]
use ada_span::table::unchecked;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match bytes {
        [0, content @ ..] => drop(unchecked::meta(content)),
        [_, rows @ .., late, late_high] if rows.len() >= 2 => {
            let (rows, block) = rows.split_at(2);
            let rows = u16::from_le_bytes([rows[0], rows[1]]).into();
            unchecked::block(rows, u16::from_le_bytes([*late, *late_high]).into(), block);
        }
        _ => (),
    }
});
