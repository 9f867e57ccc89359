//! Types of which one of several variants is there: Rust's enums with data.

use gimli::{DW_AT_data_member_location, DW_AT_discr, DW_AT_discr_list, DW_AT_discr_value};

use crate::debug_info::EntryAt;
use crate::type_reader::{MOST_HOPS, Reach, TypeReader};
use crate::value_type::{ContentType, FieldType, VariantType, VariantsType};

/// The variants of a type, as debug information has them.
pub(crate) struct DeclaredVariants {
    /// Where the number that says which is there, and its bytes.
    pub(crate) tag: Option<(u64, u64)>,
    pub(crate) variants: Vec<DeclaredVariant>,
}

/// A variant.
pub(crate) struct DeclaredVariant {
    pub(crate) name: String,
    /// The tag's value; none of the variant that all other values stand for.
    pub(crate) tag: Option<u64>,
    /// Where the structure of its fields begins, and that.
    pub(crate) offset: u64,
    pub(crate) structure: EntryAt,
}

/// The most variants that are read.
const MOST_VARIANTS: usize = 64;

impl TypeReader<'_, '_> {
    /// Whether a type has variants.
    pub(crate) fn has_variants(&self, at: EntryAt) -> bool {
        self.variant_part(at).is_some()
    }

    fn variant_part(&self, at: EntryAt) -> Option<EntryAt> {
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            if child.entry().tag() == gimli::DW_TAG_variant_part {
                return Some((at.0, child.entry().offset()));
            }
        }
        None
    }

    /// The variants of a type. None where it has something besides, as what a coroutine keeps.
    pub(crate) fn declared_variants(&self, at: EntryAt) -> Option<DeclaredVariants> {
        let part = self.variant_part(at)?;
        self.members(at)?.is_empty().then_some(())?;
        let unit = self.info.unit(part.0)?;
        let discriminant = self.info.refers_to(part.0, unit.entry(part.1).ok()?.attr_value(DW_AT_discr));
        let tag = match discriminant {
            Some(member) => {
                let offset = unit.entry(member.1).ok()?.attr_value(DW_AT_data_member_location);
                let bytes = self.bytes_of(self.info.type_of(member)?, MOST_HOPS)?;
                Some((offset.map_or(Some(0), |offset| offset.udata_value())?, bytes))
            }
            None => None,
        };
        let mut variants = Vec::new();
        let mut tree = unit.entries_tree(Some(part.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_variant {
                continue;
            }
            entry.attr_value(DW_AT_discr_list).is_none().then_some(())?;
            let value = match entry.attr_value(DW_AT_discr_value) {
                None => None,
                Some(value) => Some(value.udata_value().or_else(|| value.sdata_value().map(|it| it as u64))?),
            };
            let [member] = &self.members((at.0, entry.offset()))?[..] else { return None };
            variants.push(DeclaredVariant {
                name: member.name.clone()?,
                tag: value,
                offset: member.offset?,
                structure: self.structure(member.ty)?,
            });
            (variants.len() <= MOST_VARIANTS).then_some(())?;
        }
        Some(DeclaredVariants { tag, variants })
    }

    /// The variants of a type with their fields.
    pub(crate) fn variants(&self, at: EntryAt, reach: Reach) -> Option<ContentType> {
        let declared = self.declared_variants(at)?;
        let tag = match declared.tag {
            Some((offset, bytes @ (1 | 2 | 4 | 8))) => Some((offset, bytes as u8)),
            Some(_) => return None,
            None => None,
        };
        let reach = reach.within()?;
        let variant = |it: &DeclaredVariant| {
            let moved = |field: FieldType| Some(FieldType { offset: field.offset.checked_add(it.offset)?, ..field });
            let fields = self.fields(it.structure, reach)?.into_iter().map(moved).collect::<Option<_>>()?;
            Some(VariantType { name: it.name.clone(), tag: it.tag, fields })
        };
        // Some(3) needs no more words, and neither does what else the library has.
        let name = self.info.name(at).filter(|_| !self.is_rust_librarys(at)).unwrap_or_default();
        Some(ContentType::Variants(VariantsType {
            name: name.split('<').next().unwrap_or_default().to_owned(),
            tag,
            variants: declared.variants.iter().map(variant).collect::<Option<_>>()?,
        }))
    }
}
