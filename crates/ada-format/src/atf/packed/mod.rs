//! The packed form of a thread's files: the same events and records in about a twentieth of the bytes.
//!
//! A file is a row of blocks that know nothing of each other, and ends with a directory of them. The code of a block of
//! events is in `event_encoder.rs` and `event_decoder.rs`, which both follow one model of what usually comes next; that
//! of detail records is in `record_encoder.rs` and `detail_code.rs`. [`PackedShape`] finds the blocks of a file, also where it was cut or
//! damaged. Readers of sessions need none of this: a session's threads read alike in both forms.
#![doc = include_str!("../../../../../docs/formats/packed.md")]

mod block;
mod block_file;
mod bloom;
mod closing;
mod compact_block;
pub(crate) mod compact_reader;
mod convert;
mod convert_file;
mod detail_code;
mod detail_runs;
mod event_code;
mod event_decoder;
mod event_encoder;
mod event_section;
mod links;
mod model;
mod number;
mod packed_file;
mod recent_words;
mod record_encoder;
mod record_section;
mod shape;

pub(crate) use closing::Around;
pub(crate) use compact_block::CompactBlock;
pub use convert::{Comparison, ConvertError, pack_detail, pack_index, unpack_detail, unpack_index};
pub use convert_file::{Sizes, convert_file};
pub(crate) use detail_code::DetailBlock;
pub use event_decoder::EventDecoder;
pub(crate) use event_section::EventSection;
pub(crate) use packed_file::PackedFile;
pub(crate) use record_section::RecordSection;
pub(crate) use shape::FileHeader;
pub use shape::PackedShape;
