//! A loaded image in a manifest: who it is, where it was, and how much of it was hooked.

use std::collections::BTreeMap;
use std::fmt;

use ada_event::ModuleId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

/// One image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// The number in the upper half of its functions' ids.
    pub module_id: ModuleId,
    /// Its file.
    pub path: String,
    /// Its build-id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<BuildId>,
    /// The same in the form of a UUID; see [`BuildId::uuid`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The file of the program that had it loaded, where the process has run another one since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What the loader added to each address of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_base: Option<HexAddr>,
    /// The same of further copies of it, as `dlmopen` makes them, and where it was loaded again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_load_bases: Vec<HexAddr>,
    /// How many functions its table has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol_count: Option<u32>,
    /// The hash of its function table: two traces with the same one number functions alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_table_hash: Option<String>,
    /// The version of Go that made it, as it calls itself: `go1.19.8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_version: Option<String>,
    /// Files that gave its functions names after the recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names_from: Vec<String>,
    /// What was hooked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How many functions of an image were found, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Functions found.
    #[serde(default)]
    pub found: u64,
    /// Hooked at entry and return.
    #[serde(default)]
    pub hooked: u64,
    /// Hooked at entry only.
    #[serde(default)]
    pub entry_only: u64,
    /// Left alone, by reason.
    #[serde(default)]
    pub skipped: BTreeMap<String, u64>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An address, in JSON a string like `0x7f1234567000`: JSON numbers lose bits past 2^53 in
/// many readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HexAddr(pub u64);

/// What a linker stamped into an image; in JSON lower-case hex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BuildId(pub Vec<u8>);

impl BuildId {
    /// The first 16 bytes in the form of a UUID, for readers that know images by one. A shorter build-id has none.
    pub fn uuid(&self) -> Option<String> {
        let bytes = self.0.first_chunk::<16>()?;
        let mut text = String::with_capacity(36);
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push_str(&format!("{byte:02x}"));
        }
        Some(text)
    }
}

impl fmt::Display for HexAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for HexAddr {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for BuildId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HexAddr {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        digits
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(Self)
            .ok_or_else(|| de::Error::custom(format_args!("{text:?} is not an address like \"0x1000\"")))
    }
}

impl<'de> Deserialize<'de> for BuildId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let bytes: Option<Vec<u8>> = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
        bytes
            .filter(|_| rest.is_empty())
            .map(Self)
            .ok_or_else(|| de::Error::custom(format_args!("{text:?} is not a build-id in hex")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_gives_a_uuid_if_it_is_long_enough() {
        let build_id = BuildId((0..20).collect());
        assert_eq!(build_id.uuid().as_deref(), Some("00010203-0405-0607-0809-0a0b0c0d0e0f"));
        assert_eq!(BuildId(vec![1; 8]).uuid(), None);
    }

    #[test]
    fn addresses_and_build_ids_are_strings_in_json() {
        let addr: HexAddr = serde_json::from_str("\"0xffffffffffffffff\"").unwrap();
        assert_eq!(serde_json::to_string(&addr).unwrap(), "\"0xffffffffffffffff\"");
        let build_id: BuildId = serde_json::from_str("\"00fF\"").unwrap();
        assert_eq!(serde_json::to_string(&build_id).unwrap(), "\"00ff\"");
        for bad in ["\"12\"", "\"0x\"", "\"0x-1\"", "\"0x10000000000000000\"", "7"] {
            assert!(serde_json::from_str::<HexAddr>(bad).is_err(), "{bad}");
        }
        for bad in ["\"0\"", "\"0g\"", "\"é\"", "7"] {
            assert!(serde_json::from_str::<BuildId>(bad).is_err(), "{bad}");
        }
    }
}
