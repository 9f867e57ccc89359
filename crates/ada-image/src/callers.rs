//! Who has called a function that has not returned: one step of unwinding at a time.

use ada_event::ImageOffset;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian, ParsedEhFrameHdr,
    Register, RegisterRule, UnwindContext, UnwindSection,
};

use crate::Image;

/// The registers of a frame, by their numbers in unwind tables: 6 is rbp, 7 rsp, 16 the instruction's address.
pub type FrameRegisters = [u64; 17];

/// The number of the stack pointer.
pub const STACK_POINTER: usize = 7;
/// The number of the instruction's address.
pub const INSTRUCTION: usize = 16;

/// Finds callers by an image's unwind table.
pub struct Callers<'d> {
    section: EhFrame<Bytes<'d>>,
    /// The sorted list of its entries.
    header: Option<ParsedEhFrameHdr<Bytes<'d>>>,
    bases: BaseAddresses,
}

type Bytes<'d> = EndianSlice<'d, LittleEndian>;

impl<'d> Callers<'d> {
    /// `None` for an image without an unwind table.
    pub fn new(image: &Image<'d>) -> Option<Self> {
        let eh_frame = image.eh_frame.as_ref()?;
        let mut section = EhFrame::new(eh_frame.bytes, LittleEndian);
        section.set_address_size(8);
        let mut bases = eh_frame.bases();
        let header = image.eh_frame_header().and_then(|(address, bytes)| {
            bases = bases.clone().set_eh_frame_hdr(address);
            EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()
        });
        Some(Self { section, header, bases })
    }

    /// The entry of the function at an address: found in the list, where there is one.
    fn entry(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'d>>> {
        let cie = EhFrame::cie_from_offset;
        match self.header.as_ref().and_then(|header| header.table()) {
            Some(table) => table.fde_for_address(&self.section, &self.bases, address, cie).ok(),
            None => self.section.fde_for_address(&self.bases, address, cie).ok(),
        }
    }

    /// The registers of the caller of the frame whose instruction is at `address` in the image; `read` reads a word of its
    /// stack. `None` where the table does not say, or says it by a program of its own.
    pub fn caller(
        &self,
        address: ImageOffset,
        registers: &FrameRegisters,
        read: impl Fn(u64) -> Option<u64>,
    ) -> Option<FrameRegisters> {
        let fde = self.entry(address.0)?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&self.section, &self.bases, &mut context, address.0).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        let frame = registers.get(usize::from(register.0))?.wrapping_add_signed(offset);
        let mut caller = *registers;
        caller[STACK_POINTER] = frame;
        for (number, value) in caller.iter_mut().enumerate() {
            match row.register(Register(number as u16)) {
                Some(RegisterRule::Offset(offset)) => *value = read(frame.wrapping_add_signed(offset))?,
                Some(RegisterRule::Undefined) if number == INSTRUCTION => return None,
                _ => {}
            }
        }
        Some(caller)
    }
}
