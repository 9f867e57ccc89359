//! The little programs of `.eh_frame`, evaluated to the few facts that hooking asks for.
//!
//! gimli's own evaluation keeps a rule for each register of each row. Which rule does not matter here, only whether
//! there is one, and so a state is a few bytes that are cheap to copy, for a hundred thousand functions at each start.

use ada_event::ImageOffset;
use gimli::{CallFrameInstruction, CallFrameInstructionIter, EndianSlice, LittleEndian, Register, X86_64};

/// How the canonical frame address (the stack pointer's value before the call) is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cfa {
    /// At this distance from `rsp`.
    Rsp(i32),
    /// At this distance from `rbp`.
    Rbp(i32),
    /// From another register, by an expression, or not in a way that could be read.
    Other,
}

/// What holds of the frame while the instruction pointer is in `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first address of the row.
    pub start: ImageOffset,
    /// The first address after the row.
    pub end: ImageOffset,
    /// Where the frame is.
    pub cfa: Cfa,
    /// The caller's value of some register is no longer in that register.
    pub saves_registers: bool,
    /// The return address is where the call put it.
    pub return_address_at_cfa_minus_8: bool,
}

impl Row {
    /// Whether this is how a frame looks right after the call, before the function has done anything.
    pub fn is_function_entry(&self) -> bool {
        self.cfa == Cfa::Rsp(8) && !self.saves_registers && self.return_address_at_cfa_minus_8
    }
}

/// What an evaluation needs of the entry's common part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    pub(crate) code_alignment: u64,
    pub(crate) data_alignment: i64,
    pub(crate) return_address: Register,
}

/// The rules in force at one point of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    cfa: Option<(Register, i64)>,
    /// A bit for each register with a rule; registers from 31 on share the last.
    saved: u32,
    return_address_at_cfa_minus_8: bool,
}

impl Rules {
    pub(crate) const NONE: Self = Self { cfa: None, saved: 0, return_address_at_cfa_minus_8: false };

    fn row(&self, start: u64, end: u64) -> Row {
        let cfa = match self.cfa {
            Some((X86_64::RSP, offset)) => i32::try_from(offset).map_or(Cfa::Other, Cfa::Rsp),
            Some((X86_64::RBP, offset)) => i32::try_from(offset).map_or(Cfa::Other, Cfa::Rbp),
            _ => Cfa::Other,
        };
        Row {
            start: ImageOffset(start),
            end: ImageOffset(end),
            cfa,
            saves_registers: self.saved != 0,
            return_address_at_cfa_minus_8: self.return_address_at_cfa_minus_8,
        }
    }
}

pub(crate) type Instructions<'a, 'd> = CallFrameInstructionIter<'a, EndianSlice<'d, LittleEndian>>;
type Instruction = CallFrameInstruction<usize>;

/// Evaluates programs, one after the other.
#[derive(Default)]
pub(crate) struct RowProgram {
    /// Kept between programs to keep its memory.
    remembered: Vec<Rules>,
}

impl RowProgram {
    /// The rules that a common part establishes for each of its functions.
    pub(crate) fn initial_rules(&mut self, factors: Factors, mut instructions: Instructions) -> gimli::Result<Rules> {
        self.remembered.clear();
        let mut rules = Rules::NONE;
        while let Some(instruction) = instructions.next()? {
            self.apply(&mut rules, Rules::NONE, factors, instruction)?;
        }
        Ok(rules)
    }

    /// Appends the rows of a function to `rows`. On an error, the rest of the function gets a row that says
    /// nothing.
    pub(crate) fn append_rows(
        &mut self,
        rows: &mut Vec<Row>,
        initial: Rules,
        factors: Factors,
        (start, end): (u64, u64),
        mut instructions: Instructions,
    ) -> gimli::Result<()> {
        self.remembered.clear();
        let first = rows.len();
        let mut rules = initial;
        let mut row_start = start;
        let outcome = loop {
            let next = match instructions.next() {
                Ok(None) => break Ok(()),
                Ok(Some(CallFrameInstruction::AdvanceLoc { delta })) => {
                    row_start.saturating_add(u64::from(delta).saturating_mul(factors.code_alignment))
                }
                Ok(Some(CallFrameInstruction::SetLoc { address })) => address,
                Ok(Some(instruction)) => match self.apply(&mut rules, initial, factors, instruction) {
                    Ok(()) => continue,
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            };
            if next < row_start {
                break Err(gimli::Error::InvalidCfiSetLoc(next));
            }
            if next >= end {
                break Ok(());
            }
            push_row(rows, first, rules.row(row_start, next));
            row_start = next;
        };
        if outcome.is_err() {
            rules = Rules::NONE;
        }
        push_row(rows, first, rules.row(row_start, end));
        outcome
    }

    fn apply(
        &mut self,
        rules: &mut Rules,
        initial: Rules,
        factors: Factors,
        instruction: Instruction,
    ) -> gimli::Result<()> {
        use CallFrameInstruction as I;
        let scaled = |factored: i64| factored.wrapping_mul(factors.data_alignment);
        match instruction {
            I::DefCfa { register, offset } => rules.cfa = Some((register, offset as i64)),
            I::DefCfaSf { register, factored_offset } => rules.cfa = Some((register, scaled(factored_offset))),
            I::DefCfaRegister { register } => rules.cfa = rules.cfa.map(|(_, offset)| (register, offset)),
            I::DefCfaOffset { offset } => rules.cfa = rules.cfa.map(|(register, _)| (register, offset as i64)),
            I::DefCfaOffsetSf { factored_offset } => {
                rules.cfa = rules.cfa.map(|(register, _)| (register, scaled(factored_offset)));
            }
            I::DefCfaExpression { .. } => rules.cfa = None,
            I::Offset { register, factored_offset } => {
                save(rules, factors, register, Some(scaled(factored_offset as i64)));
            }
            I::OffsetExtendedSf { register, factored_offset } => {
                save(rules, factors, register, Some(scaled(factored_offset)));
            }
            I::Undefined { register }
            | I::ValOffset { register, .. }
            | I::ValOffsetSf { register, .. }
            | I::Register { dest_register: register, .. }
            | I::Expression { register, .. }
            | I::ValExpression { register, .. } => save(rules, factors, register, None),
            I::SameValue { register } => set_saved(rules, factors, register, Rules::NONE),
            I::Restore { register } => set_saved(rules, factors, register, initial),
            I::RememberState => self.remembered.push(*rules),
            I::RestoreState => *rules = self.remembered.pop().ok_or(gimli::Error::PopWithEmptyStack)?,
            // The rest is about other processors, or about arguments that are still on the stack.
            _ => {}
        }
        Ok(())
    }
}

/// Rows that say the same are one row, and empty ones none.
fn push_row(rows: &mut Vec<Row>, first: usize, row: Row) {
    if row.start >= row.end {
        return;
    }
    if let Some(last) = rows[first..].last_mut()
        && (Row { start: last.start, end: last.end, ..row }) == *last
    {
        last.end = row.end;
        return;
    }
    rows.push(row);
}

fn bit(register: Register) -> u32 {
    1 << register.0.min(31)
}

fn save(rules: &mut Rules, factors: Factors, register: Register, offset: Option<i64>) {
    if register == factors.return_address {
        rules.return_address_at_cfa_minus_8 = offset == Some(-8);
    } else {
        rules.saved |= bit(register);
    }
}

/// Gives a register the rule that it has in `from`.
fn set_saved(rules: &mut Rules, factors: Factors, register: Register, from: Rules) {
    if register == factors.return_address {
        rules.return_address_at_cfa_minus_8 = from.return_address_at_cfa_minus_8;
    } else if register.0 < 31 {
        rules.saved = rules.saved & !bit(register) | from.saved & bit(register);
    }
}
