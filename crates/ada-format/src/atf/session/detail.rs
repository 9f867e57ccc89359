//! A thread's detail records, whichever form their file has.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use ada_event::{DetailSeq, EventSeq};

use super::block_cache::BlockCache;
use crate::atf::detail::{DetailShape, Hop, hop};
use crate::atf::map::Mapping;
use crate::atf::packed::{DetailBlock, PackedShape};
use crate::atf::{Arch, AtfError, Damage, DetailRecord, DetailView, Payload, Records};

/// A detail file, mapped.
#[derive(Debug)]
pub(super) enum DetailFile {
    Raw { map: Mapping, shape: DetailShape },
    Packed(PackedDetail),
}

/// A packed one.
#[derive(Debug)]
pub(super) struct PackedDetail {
    pub(super) map: Mapping,
    pub(super) shape: PackedShape,
    cache: Arc<BlockCache<DetailBlock>>,
    number: u64,
}

impl DetailFile {
    pub(super) fn raw(map: Mapping) -> Result<Self, AtfError> {
        let shape = DetailShape::find(map.bytes(), |walked| map.release(0..walked))?;
        Ok(Self::Raw { map, shape })
    }

    pub(super) fn packed(map: Mapping, cache: Arc<BlockCache<DetailBlock>>) -> Result<Self, AtfError> {
        let shape = PackedShape::of_detail(map.bytes())?;
        let number = cache.add_file();
        Ok(Self::Packed(PackedDetail { map, shape, cache, number }))
    }

    /// Whether it shows no sign of a write under way.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Raw { .. } => true,
            Self::Packed(packed) => packed.shape.is_settled(),
        }
    }

    pub(super) fn map(&self) -> &Mapping {
        match self {
            Self::Raw { map, .. } => map,
            Self::Packed(packed) => &packed.map,
        }
    }

    pub(super) fn damage(&self) -> &[Damage] {
        match self {
            Self::Raw { shape, .. } => &shape.damage,
            Self::Packed(packed) => packed.shape.damage(),
        }
    }

    /// Bytes of the records in the raw form.
    pub(super) fn record_bytes(&self) -> u64 {
        match self {
            Self::Raw { shape, .. } => shape.records.len() as u64,
            Self::Packed(packed) => packed.shape.entries().iter().map(|entry| u64::from(entry.header.extent)).sum(),
        }
    }

    pub(super) fn view(&self) -> ThreadDetail<'_> {
        let inner = match self {
            Self::Raw { map, shape } => Inner::Raw(DetailView::mapped(map, shape.clone())),
            Self::Packed(packed) => Inner::Packed { packed, recent: RefCell::default() },
        };
        ThreadDetail { inner }
    }
}

impl PackedDetail {
    fn block(&self, block: usize) -> Option<Arc<DetailBlock>> {
        self.cache.get(self.number, block, || self.shape.read_records(self.map.bytes(), block)).ok()
    }

    pub(super) fn arch(&self) -> Arch {
        self.shape.header().map_or(Arch(0), |header| header.platform.arch)
    }
}

/// The detail records of a thread. Each view remembers the block that it was asked for last.
#[derive(Clone, Debug)]
pub struct ThreadDetail<'a> {
    inner: Inner<'a>,
}

#[derive(Clone, Debug)]
enum Inner<'a> {
    Raw(DetailView<'a>),
    Packed { packed: &'a PackedDetail, recent: RefCell<Option<Arc<DetailBlock>>> },
}

impl<'a> ThreadDetail<'a> {
    /// How many records there are, those that cannot be read included.
    pub fn len(&self) -> u64 {
        match &self.inner {
            Inner::Raw(view) => view.len(),
            Inner::Packed { packed, .. } => packed.shape.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is wrong with the file, as far as can be known without reading all records.
    pub fn damage(&self) -> &[Damage] {
        match &self.inner {
            Inner::Raw(view) => view.damage(),
            Inner::Packed { packed, .. } => packed.shape.damage(),
        }
    }

    /// The record at a position, which is what an event's `detail` links to.
    pub fn record(&self, seq: DetailSeq) -> Option<HeldRecord<'a>> {
        let position = u64::from(seq.get()?);
        match &self.inner {
            Inner::Raw(view) => Some(HeldRecord { position, held: Held::Mapped(view.record(seq)?) }),
            Inner::Packed { packed, recent } => {
                let known = recent.borrow().clone();
                if let Some(record) = known.and_then(|block| HeldRecord::of(&block, position, packed.arch())) {
                    return Some(record);
                }
                let block = packed.block(packed.shape.block_with(position)?)?;
                let record = HeldRecord::of(&block, position, packed.arch());
                recent.replace(Some(block));
                record
            }
        }
    }

    /// The records in the order of the file. An error of a raw file is the end; blocks of a packed one that cannot be
    /// read are left out, and the positions show it.
    pub fn records(&self) -> HeldRecords<'a> {
        let walk = match &self.inner {
            Inner::Raw(view) => Walk::Raw(view.records()),
            Inner::Packed { packed, .. } => Walk::Packed { packed, next: 0, block: None, remaining: 0..0 },
        };
        HeldRecords { walk, position: 0 }
    }

    /// A number that changes with the records.
    pub fn fingerprint(&self) -> u64 {
        match &self.inner {
            Inner::Raw(view) => view.footer().map_or(0, |footer| footer.crc32.into()),
            Inner::Packed { packed, .. } => packed.shape.fingerprint(),
        }
    }
}

/// One record, and the memory that it is in.
#[derive(Clone, Debug)]
pub struct HeldRecord<'a> {
    position: u64,
    held: Held<'a>,
}

#[derive(Clone, Debug)]
enum Held<'a> {
    Mapped(DetailRecord<'a>),
    Unpacked { block: Arc<DetailBlock>, start: usize, arch: Arch },
}

impl HeldRecord<'_> {
    fn of(block: &Arc<DetailBlock>, position: u64, arch: Arch) -> Option<Self> {
        let index = usize::try_from(position.checked_sub(block.first)?).ok()?;
        let start = *block.starts.get(index)? as usize;
        Some(Self { position, held: Held::Unpacked { block: block.clone(), start, arch } })
    }

    /// Its position in the file.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What it says.
    #[inline]
    pub fn get(&self) -> DetailRecord<'_> {
        match &self.held {
            Held::Mapped(record) => *record,
            Held::Unpacked { block, start, arch } => match hop(&block.bytes, *start, block.bytes.len(), *arch) {
                Hop::Whole(record, _) => DetailRecord { offset: block.offset + *start as u64, ..record },
                _ => unreachable!("a block that was read has whole records"),
            },
        }
    }

    /// The event that it belongs to.
    pub fn event_seq(&self) -> EventSeq {
        self.get().event_seq()
    }

    /// What its payload says. Each call reads it anew.
    pub fn payload(&self) -> Result<Payload<'_>, AtfError> {
        self.get().payload()
    }
}

/// The records of a detail file in its order.
#[derive(Debug)]
pub struct HeldRecords<'a> {
    walk: Walk<'a>,
    position: u64,
}

#[derive(Debug)]
enum Walk<'a> {
    Raw(Records<'a>),
    Packed { packed: &'a PackedDetail, next: usize, block: Option<Arc<DetailBlock>>, remaining: Range<u64> },
}

impl<'a> Iterator for HeldRecords<'a> {
    type Item = Result<HeldRecord<'a>, AtfError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.walk {
            Walk::Raw(records) => {
                let position = self.position;
                self.position += 1;
                let record = records.next()?;
                Some(record.map(|record| HeldRecord { position, held: Held::Mapped(record) }))
            }
            Walk::Packed { packed, next, block, remaining } => loop {
                if let (Some(block), Some(position)) = (&*block, remaining.next()) {
                    return HeldRecord::of(block, position, packed.arch()).map(Ok);
                }
                if *next == packed.shape.block_count() {
                    return None;
                }
                if let Ok(read) = packed.shape.read_records(packed.map.bytes(), *next) {
                    *remaining = packed.shape.block_range(*next);
                    *block = Some(Arc::new(read));
                }
                packed.map.release(packed.shape.byte_range(*next));
                *next += 1;
            },
        }
    }
}
