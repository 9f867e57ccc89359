//! A column of a block: a base, and what is added to it in as few bytes as all of them need.

/// Bytes before the values: the base, the width, and padding.
const HEADER: usize = 16;

/// Appends a column. `bits` has every bit that a value's distance from the base has.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, base: u64, bits: u64, values: impl ExactSizeIterator<Item = u64>) {
    let width: u8 = match bits {
        0 => 0,
        0x1..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    };
    out.extend(base.to_le_bytes());
    out.extend([width, 0, 0, 0, 0, 0, 0, 0]);
    let values = values.map(|value| value.wrapping_sub(base));
    match width {
        0 => (),
        1 => put_wide(out, values, |value| [value as u8]),
        2 => put_wide(out, values, |value| (value as u16).to_le_bytes()),
        4 => put_wide(out, values, |value| (value as u32).to_le_bytes()),
        _ => put_wide(out, values, u64::to_le_bytes),
    }
}

#[inline]
fn put_wide<const N: usize>(
    out: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = u64>,
    bytes: impl Fn(u64) -> [u8; N],
) {
    let begin = out.len();
    out.resize(begin + N * values.len(), 0);
    for (slot, value) in out[begin..].as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *slot = bytes(value);
    }
}

/// Takes a column of so many rows off the front of `bytes`, into `out` if it is wanted. None if it does not fit.
pub(crate) fn take(bytes: &mut &[u8], rows: usize, out: Option<&mut Vec<u64>>) -> Option<()> {
    let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
    let base = u64::from_le_bytes(*header.first_chunk()?);
    let width = usize::from(header[8]);
    if !matches!(width, 0 | 1 | 2 | 4 | 8) {
        return None;
    }
    let (values, rest) = rest.split_at_checked(width * rows)?;
    *bytes = rest;
    let Some(out) = out else { return Some(()) };
    out.clear();
    match width {
        0 => out.resize(rows, base),
        1 => out.extend(values.iter().map(|&value| base.wrapping_add(value.into()))),
        2 => out.extend(values.as_chunks().0.iter().map(|it| base.wrapping_add(u16::from_le_bytes(*it).into()))),
        4 => out.extend(values.as_chunks().0.iter().map(|it| base.wrapping_add(u32::from_le_bytes(*it).into()))),
        _ => out.extend(values.as_chunks().0.iter().map(|it| base.wrapping_add(u64::from_le_bytes(*it)))),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_each_width_survive() {
        for largest in [0, 1, 255, 256, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX - 7] {
            let values = [7, 7 + largest, 7 + largest / 2];
            let mut bytes = Vec::new();
            put(&mut bytes, 7, largest | (largest / 2), values.into_iter());
            put(&mut bytes, 5, 0, [5; 3].into_iter());
            let mut rest_of_file = &bytes[..];
            let mut read = Vec::new();
            take(&mut rest_of_file, 3, Some(&mut read)).unwrap();
            assert_eq!(read, values);
            take(&mut rest_of_file, 3, None).unwrap();
            assert!(rest_of_file.is_empty());
            for len in 0..bytes.len() - HEADER {
                assert!(take(&mut &bytes[..len], 3, None).is_none());
            }
        }
    }
}
