//! A plan as flat bytes.
//!
//! ```text
//! 0    "ADAPLAN\n"
//! 8    CRC-32 of all that follows
//! 12   ten lists, each behind its length in bytes (8 bytes):
//!      key · first address, hash of the function table · build-id · functions · names · text of the names ·
//!      verdicts · plans · exits
//! ```
//!
//! Nothing here depends on alignment, and no list has to be parsed to find the next.

use ada_event::ImageOffset;
use ada_image::{Function, FunctionTable, StoredTable};
use ada_patch::{ExitPlan, PatchPlan, Verdict};

use crate::plan::image_plan::{ImagePlan, Originals};

const MAGIC: [u8; 8] = *b"ADAPLAN\n";
const CHECKED_FROM: usize = MAGIC.len() + 4;
/// The bytes that the patches replace, and the plan.
const EXIT_BYTES: usize = size_of::<Originals>() + ExitPlan::STORED_BYTES;
/// The function's number, the bytes that the patches replace, and the plan.
const SITE_BYTES: usize = 4 + size_of::<Originals>() + PatchPlan::STORED_BYTES;

/// Stores a plan under a key.
pub(super) fn encode(plan: &ImagePlan, key: &[u8]) -> Vec<u8> {
    let ImagePlan { first_address, build_id, functions, table_hash, verdicts, plans, originals, .. } = plan;
    let table = functions.store();
    let verdicts: Vec<u8> = verdicts.iter().flat_map(|verdict| verdict.store()).collect();
    let mut sites = Vec::with_capacity(plans.len() * SITE_BYTES);
    for ((index, plan), original) in plans.iter().zip(originals) {
        sites.extend_from_slice(&(*index as u32).to_le_bytes());
        sites.extend_from_slice(original.as_flattened());
        sites.extend_from_slice(&plan.store());
    }
    let mut exits = Vec::with_capacity(plan.exits.len() * EXIT_BYTES);
    for (exit, original) in plan.exits.iter().zip(&plan.exit_originals) {
        exits.extend_from_slice(original.as_flattened());
        exits.extend_from_slice(&exit.store());
    }
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut id = vec![u8::from(build_id.is_some())];
    id.extend_from_slice(build_id.as_deref().unwrap_or_default());
    let lists = [
        key,
        &words(&[first_address.0, *table_hash]),
        &id,
        &table.functions,
        &table.names,
        &table.text,
        &verdicts,
        &sites,
        &exits,
    ];
    let mut stored = Vec::with_capacity(CHECKED_FROM + lists.iter().map(|list| 8 + list.len()).sum::<usize>());
    stored.extend_from_slice(&MAGIC);
    stored.extend_from_slice(&[0; 4]);
    for list in lists {
        stored.extend_from_slice(&(list.len() as u64).to_le_bytes());
        stored.extend_from_slice(list);
    }
    sign(&mut stored);
    stored
}

fn sign(stored: &mut [u8]) {
    let checksum = crc32fast::hash(&stored[CHECKED_FROM..]);
    stored[MAGIC.len()..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
}

/// The plan that was stored under this key, or nothing: it may be another key's, damaged, or made up.
pub(super) fn decode(stored: &[u8], key: &[u8]) -> Option<ImagePlan> {
    let rest = stored.strip_prefix(&MAGIC)?;
    let (checksum, checked) = rest.split_first_chunk()?;
    let mut lists = Lists { rest: checked };
    // A stale plan is detected before its bytes are read.
    if lists.next()? != key || crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let [first_address, table_hash] = words(lists.next()?)?[..] else { return None };
    let build_id = match lists.next()?.split_first()? {
        (0, []) => None,
        (1, id) => Some(id.to_vec()),
        _ => return None,
    };
    let table = StoredTable { functions: lists.next()?, names: lists.next()?, text: lists.next()? };
    let functions = FunctionTable::restore(table)?;
    let verdicts = verdicts(lists.next()?)?;
    let (plans, originals) = sites(lists.next()?)?;
    let (exits, exit_originals) = exits(lists.next()?)?;
    let plan = ImagePlan {
        first_address: ImageOffset(first_address),
        build_id,
        functions,
        table_hash,
        verdicts,
        plans,
        originals,
        exits,
        exit_originals,
    };
    (lists.rest.is_empty() && is_coherent(&plan)).then_some(plan)
}

struct Lists<'a> {
    rest: &'a [u8],
}

impl<'a> Lists<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk()?;
        let (list, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        self.rest = rest;
        Some(list)
    }
}

fn words(list: &[u8]) -> Option<Vec<u64>> {
    let (words, rest) = list.as_chunks::<8>();
    rest.is_empty().then(|| words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

fn verdicts(list: &[u8]) -> Option<Vec<Verdict>> {
    let (pairs, rest) = list.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|pair| Verdict::restore(*pair)).collect()
}

type Sites = (Vec<(usize, PatchPlan)>, Vec<Originals>);

fn sites(list: &[u8]) -> Option<Sites> {
    let (records, rest) = list.as_chunks::<SITE_BYTES>();
    if !rest.is_empty() {
        return None;
    }
    let mut plans = Vec::with_capacity(records.len());
    let mut originals = Vec::with_capacity(records.len());
    for record in records {
        let (index, rest) = record.split_first_chunk()?;
        let (jump, rest) = rest.split_first_chunk()?;
        let (relay, plan) = rest.split_first_chunk()?;
        plans.push((u32::from_le_bytes(*index) as usize, PatchPlan::restore(plan.try_into().ok()?)?));
        originals.push([*jump, *relay]);
    }
    Some((plans, originals))
}

fn exits(list: &[u8]) -> Option<(Vec<ExitPlan>, Vec<Originals>)> {
    let (records, rest) = list.as_chunks::<EXIT_BYTES>();
    let restored = records.iter().map(|record| {
        let (jump, rest) = record.split_first_chunk()?;
        let (relay, exit) = rest.split_first_chunk()?;
        Some((ExitPlan::restore(exit.try_into().ok()?)?, [*jump, *relay]))
    });
    rest.is_empty().then(|| restored.collect::<Option<_>>())?
}

/// Whether every function has a verdict, and every function that is to be hooked a plan.
fn is_coherent(plan: &ImagePlan) -> bool {
    let wanted = plan.verdicts.iter().filter(|verdict| !matches!(verdict, Verdict::Skipped(_))).count();
    plan.verdicts.len() == plan.functions.len()
        && plan.plans.len() == wanted
        && plan.plans.is_sorted_by(|(a, _), (b, _)| a < b)
        && plan.plans.iter().zip(&plan.originals).all(|((index, patch), original)| {
            let is_wanted = plan.verdicts.get(*index).is_some_and(|verdict| !matches!(verdict, Verdict::Skipped(_)));
            is_wanted && is_for(patch, &plan.functions.functions()[*index], original)
        })
        && plan.exits.iter().zip(&plan.exit_originals).all(|(exit, original)| {
            let overwritten = exit.patched().next().map_or(0, |jump| (jump.end.0 - jump.start.0) as usize);
            (exit.function as usize) < plan.verdicts.len()
                && exit.at.0 < END_OF_ADDRESSES
                && exit
                    .displaced
                    .bytes()
                    .iter()
                    .zip(original[0].iter().take(overwritten))
                    .all(|(one, other)| one == other)
        })
}

const END_OF_ADDRESSES: u64 = 1 << 47;

/// Whether a plan patches this function's start, behind its mark for indirect branches at most, and moves the bytes that
/// it overwrites.
fn is_for(patch: &PatchPlan, function: &Function, originals: &Originals) -> bool {
    const LONGEST_MARK: u64 = 4;
    patch.at.0 < END_OF_ADDRESSES
        && patch.at.0.checked_sub(function.start.0).is_some_and(|by| by <= LONGEST_MARK)
        && patch.patched().next().is_some_and(|jump| {
            let overwritten = originals[0].iter().take((jump.end.0 - jump.start.0) as usize);
            patch.displaced.bytes().iter().zip(overwritten).all(|(one, other)| one == other)
        })
}

/// The plan whose lists these bytes are, whatever checksum they would need.
#[cfg(fuzzing)]
pub(crate) fn decode_lists(lists: &[u8], key: &[u8]) -> Option<ImagePlan> {
    let mut stored = [&MAGIC[..], &[0; 4], lists].concat();
    sign(&mut stored);
    decode(&stored, key)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ada_image::Image;
    use std::ops::Range;

    const KEY: &[u8] = b"key";

    fn plan_of(path: &str) -> ImagePlan {
        let bytes = std::fs::read(path).unwrap();
        ImagePlan::make(&Image::parse(&bytes).unwrap(), None)
    }

    pub(in super::super) fn assert_same(one: &ImagePlan, other: &ImagePlan) {
        assert_eq!((one.first_address, &one.build_id), (other.first_address, &other.build_id));
        assert_eq!(one.functions.functions(), other.functions.functions());
        for index in 0..one.functions.len() {
            assert!(one.functions.names(index).eq(other.functions.names(index)));
        }
        assert_eq!((one.table_hash, one.table_hash), (other.table_hash, other.functions.hash()));
        assert_eq!(one.verdicts, other.verdicts);
        assert_eq!(one.plans, other.plans);
        assert_eq!(one.originals, other.originals);
        assert_eq!((&one.exits, &one.exit_originals), (&other.exits, &other.exit_originals));
    }

    /// Where each list begins, with its length.
    fn lists(stored: &[u8]) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut at = CHECKED_FROM;
        while at < stored.len() {
            let length = u64::from_le_bytes(stored[at..at + 8].try_into().unwrap()) as usize;
            ranges.push(at..at + 8 + length);
            at += 8 + length;
        }
        ranges
    }

    /// Each kind of offset: every byte of the header, and of the first and last records of each list, and some between.
    fn offsets(stored: &[u8]) -> Vec<usize> {
        let mut offsets: Vec<usize> = (0..CHECKED_FROM).collect();
        for list in lists(stored) {
            offsets.extend(list.clone().take(80));
            offsets.extend(list.clone().rev().take(72));
            offsets.extend(list.clone().step_by(1 + list.len() / 97));
        }
        offsets
    }

    #[test]
    fn real_images_come_back_as_they_were_planned() {
        for path in ["/bin/ls", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"] {
            let plan = plan_of(path);
            assert!(plan.plans.len() > 100 && plan.exits.len() > 100, "{path} has functions, and they end");
            assert_same(&plan, &decode(&encode(&plan, KEY), KEY).unwrap());
        }
    }

    #[test]
    fn another_key_is_another_plan() {
        let stored = encode(&plan_of("/bin/ls"), KEY);
        assert!(decode(&stored, KEY).is_some());
        for key in [&b"kex"[..], b"ke", b"keyy", b""] {
            assert!(decode(&stored, key).is_none());
        }
    }

    #[test]
    fn damage_anywhere_is_noticed() {
        let mut stored = encode(&plan_of("/bin/ls"), KEY);
        assert_eq!(lists(&stored).len(), 9);
        for at in offsets(&stored) {
            stored[at] ^= 0x10;
            assert!(decode(&stored, KEY).is_none(), "byte {at}");
            stored[at] ^= 0x10;
            assert!(decode(&stored[..at], KEY).is_none(), "{at} bytes");
        }
        stored.push(0);
        sign(&mut stored);
        assert!(decode(&stored, KEY).is_none(), "something behind the end");
    }

    /// With a checksum that is right, only the meaning of the bytes remains to be looked at.
    #[test]
    fn a_forged_plan_does_no_harm_to_the_installer() {
        let good = encode(&plan_of("/bin/ls"), KEY);
        let mut believed = 0;
        for at in offsets(&good).into_iter().skip(CHECKED_FROM) {
            for change in [0x01, 0x80, 0xff] {
                let mut stored = good.clone();
                stored[at] ^= change;
                sign(&mut stored);
                if let Some(plan) = decode(&stored, KEY) {
                    believed += 1;
                    crate::fuzzed::lay_out(plan);
                }
            }
        }
        assert!(believed > 0, "a changed letter of a name is not noticed");
    }
}
