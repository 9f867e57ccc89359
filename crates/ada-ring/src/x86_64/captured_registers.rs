//! The registers of a detail record, as the stubs write them and the drain reads them.

/// At a call: the arguments, and rax, which holds how many vector registers a variadic call uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CallRegisters {
    /// The first argument.
    pub rdi: u64,
    /// The second.
    pub rsi: u64,
    /// The third.
    pub rdx: u64,
    /// The fourth.
    pub rcx: u64,
    /// The fifth.
    pub r8: u64,
    /// The sixth.
    pub r9: u64,
    /// The number of vector registers that hold arguments, in a variadic call.
    pub rax: u64,
}

/// At a return, in the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ReturnRegisters {
    /// The result.
    pub rax: u64,
    /// Its second half.
    pub rdx: u64,
}

impl CallRegisters {
    /// How many words they are.
    pub const WORDS: usize = size_of::<Self>() / size_of::<u64>();

    /// The words, in the order of the fields.
    pub const fn words(self) -> [u64; Self::WORDS] {
        let Self { rdi, rsi, rdx, rcx, r8, r9, rax } = self;
        [rdi, rsi, rdx, rcx, r8, r9, rax]
    }
}

impl ReturnRegisters {
    /// The words of a record with these registers.
    pub const fn words(self) -> [u64; CallRegisters::WORDS] {
        [self.rax, self.rdx, 0, 0, 0, 0, 0]
    }
}

/// Bytes of the vector registers that are captured: eight on a call, of which a return uses two.
pub const VECTOR_BYTES: usize = 8 * 16;

const _: () = assert!(size_of::<ReturnRegisters>() <= size_of::<CallRegisters>());
