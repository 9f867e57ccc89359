//! What the kernel reports of processes to whoever may ask: events on each processor, with a ring for their records.

mod attributes;
mod ring;

use std::fs;
use std::io;

pub(crate) use attributes::{Wanted, Whose, open_event, redirect};
pub(crate) use ring::Ring;

/// An event with its ring on each processor that is switched on, by its number.
pub(crate) fn open_on_processors(wanted: Wanted, whose: Whose) -> io::Result<Vec<(u16, Ring)>> {
    let mut rings = Vec::new();
    for number in online_processors() {
        match open_event(wanted, whose, number) {
            Ok(event) => rings.push((number, Ring::map(event)?)),
            // It was switched off meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rings)
}

/// The numbers of the processors that are switched on.
pub(crate) fn online_processors() -> Vec<u16> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_else(|_| "0".to_owned());
    processors_in(&text)
}

/// Numbers as the kernel lists them: `0-3,8`.
fn processors_in(list: &str) -> Vec<u16> {
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?),
        None => number(part).map(|it| it..=it),
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(processors_in("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(processors_in("7"), [7]);
        assert!(processors_in("").is_empty() && processors_in("x-3").is_empty());
    }
}
