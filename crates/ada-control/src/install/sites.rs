//! Sites: where hooks are written over code, and back.

use std::io;
use std::ops::Range;

use ada_event::RuntimeAddr;
use ada_patch::{HookSite, PATCH_BYTES, Patch};
use ada_process::Remote;

use crate::install::shift::Shift;
use crate::plan::image_plan::Originals;

/// One hook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// What leads to the stub.
    pub(crate) site: HookSite,
    /// The bytes that it replaces.
    pub(crate) originals: Originals,
    /// The number of the function in its image.
    pub(crate) function: usize,
    /// It is one of the ways out of the function, and not its start.
    pub(crate) is_exit: bool,
    /// Other functions leave here too.
    pub(crate) is_shared: bool,
}

impl Site {
    fn patches(&self) -> impl Iterator<Item = (&Patch, &[u8])> {
        self.site.patches().zip(&self.originals).map(|(patch, original)| (patch, &original[..patch.bytes().len()]))
    }

    /// Whether its jump can be taken out by itself.
    pub(crate) fn is_removable(&self) -> bool {
        !self.is_shared && self.site.relay.is_none()
    }

    /// The same in a program that has everything elsewhere, so far away.
    pub(crate) fn shifted(&self, shift: Shift) -> Self {
        let mut shifted = *self;
        let HookSite { jump, relay, copy } = &mut shifted.site;
        let addresses = [&mut jump.at].into_iter().chain(relay.iter_mut().map(|relay| &mut relay.at));
        for address in addresses.chain(copy.iter_mut().map(|copy| &mut copy.at)) {
            *address = shift.apply(*address);
        }
        shifted
    }

    /// The code that changes.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<RuntimeAddr>> {
        self.site.patches().map(|patch| patch.at..patch.at + patch.bytes().len() as u64)
    }
}

/// Writes jumps over code. Gives the sites where the text in memory is not what the file says; these are left alone.
pub(crate) fn write_jumps<'s>(remote: &dyn Remote, sites: &'s [Site]) -> io::Result<Vec<&'s Site>> {
    exchange(remote, sites, |site| site.patches().map(|(patch, original)| (patch, original, patch.bytes())))
}

/// Writes back what the jumps at functions have replaced, where they still are. Who is on the way by a relay still gets there.
pub(crate) fn write_original_starts<'s>(remote: &dyn Remote, sites: &'s [Site]) -> io::Result<Vec<&'s Site>> {
    exchange(remote, sites, |site| originals(site).take(1))
}

/// The same for relays.
pub(crate) fn write_original_relays<'s>(remote: &dyn Remote, sites: &'s [Site]) -> io::Result<Vec<&'s Site>> {
    exchange(remote, sites, |site| originals(site).skip(1))
}

fn originals(site: &Site) -> impl Iterator<Item = (&Patch, &[u8], &[u8])> {
    site.patches().map(|(patch, original)| (patch, patch.bytes(), original))
}

/// Writes the last of each patch's bytes where the first are, in few large writes. Gives the sites where something else is.
fn exchange<'s, P>(
    remote: &dyn Remote,
    sites: &'s [Site],
    bytes_of: impl Fn(&'s Site) -> P,
) -> io::Result<Vec<&'s Site>>
where
    P: Iterator<Item = (&'s Patch, &'s [u8], &'s [u8])>,
{
    let mut different = Vec::new();
    let mut bytes = Vec::new();
    for (numbers, Range { start, end }) in windows(sites) {
        let window = &sites[numbers];
        bytes.resize((end - start) as usize, 0);
        remote.read(start, &mut bytes)?;
        let range = |patch: &Patch| {
            let from = (patch.at - start) as usize;
            from..from + patch.bytes().len()
        };
        for site in window {
            if bytes_of(site).all(|(patch, before, _)| bytes[range(patch)] == *before) {
                bytes_of(site).for_each(|(patch, _, after)| bytes[range(patch)].copy_from_slice(after));
            } else {
                different.push(site);
            }
        }
        remote.write(start, &bytes)?;
    }
    Ok(different)
}

/// Sites that are read and written together, and the code that they are in: at most about a mebibyte, and without pages that
/// would be read and written for nothing. Sites are in the order of their addresses.
pub(crate) fn windows(sites: &[Site]) -> impl Iterator<Item = (Range<usize>, Range<RuntimeAddr>)> {
    const WINDOW: u64 = 1 << 20;
    let mut next = 0;
    std::iter::from_fn(move || {
        let from = next;
        let first = sites.get(from)?.site.jump.at;
        next += 1;
        while let (last, Some(site)) = (&sites[next - 1], sites.get(next)) {
            let (last, at) = (last.site.jump.at, site.site.jump.at);
            if at - last > 4096 || at - first > WINDOW {
                break;
            }
            next += 1;
        }
        let ranges = || sites[from..next].iter().flat_map(Site::ranges);
        let start = ranges().map(|range| range.start).min().unwrap_or(first);
        let end = ranges().map(|range| range.end).max().unwrap_or(first);
        Some((from..next, start..end))
    })
}

/// As many bytes as a patch can replace.
pub(crate) fn first_bytes(code: &[u8]) -> [u8; PATCH_BYTES] {
    let mut first = [0; PATCH_BYTES];
    let length = code.len().min(first.len());
    first[..length].copy_from_slice(&code[..length]);
    first
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A process whose code begins at address 0.
    struct Code(RefCell<Vec<u8>>);

    impl Remote for Code {
        fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
            bytes.copy_from_slice(&self.0.borrow()[address.0 as usize..][..bytes.len()]);
            Ok(())
        }

        fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
            self.0.borrow_mut()[address.0 as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn system_call(&self, _number: i64, _arguments: [u64; 6]) -> io::Result<u64> {
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }

        fn put_path(&self, _path: &str) -> io::Result<RuntimeAddr> {
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }
    }

    /// A thread may stand between the two jumps.
    #[test]
    fn relays_lead_on_until_they_are_taken_away_too() {
        let patch = |at: usize, bytes: &[u8]| Patch::of(RuntimeAddr(at as u64), bytes).unwrap();
        let site = Site {
            site: HookSite { jump: patch(32, &[1, 2]), relay: Some(patch(8, &[3; 5])), copy: None },
            originals: [first_bytes(&[9; 2]), first_bytes(&[8; 5])],
            function: 0,
            is_exit: false,
            is_shared: false,
        };
        let code = Code(RefCell::new(vec![0; 64]));
        code.write(RuntimeAddr(32), &[9; 2]).unwrap();
        code.write(RuntimeAddr(8), &[8; 5]).unwrap();
        let before = code.0.borrow().clone();
        assert!(write_jumps(&code, &[site]).unwrap().is_empty());
        let hooked = code.0.borrow().clone();
        assert!(write_original_starts(&code, &[site]).unwrap().is_empty());
        assert_eq!(code.0.borrow()[32..34], [9; 2]);
        assert_eq!(code.0.borrow()[..32], hooked[..32]);
        assert!(write_original_relays(&code, &[site]).unwrap().is_empty());
        assert_eq!(*code.0.borrow(), before);
    }
}
