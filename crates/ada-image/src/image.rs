//! The image: what its headers say.

use std::fmt;

use ada_event::ImageOffset;
use object::LittleEndian;
use object::elf::{
    ET_EXEC, FileType, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_INTERP, PT_LOAD, PT_NOTE, ProgramHeader64, SHF_ALLOC,
    SHF_EXECINSTR, SHT_DYNSYM, SHT_NOTE, SHT_SYMTAB,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use crate::code_range::{self, CodeRange};
use crate::eh_frame::EhFrameBytes;
use crate::header::{self, Header, Sections, section_bytes, section_name};
use crate::note::{ControlFlowProtection, GoSections, Notes};
use crate::segment::{Segment, bytes_from};
use crate::symbol_table::SymbolTable;
use crate::{ImageError, mini_debug};

/// Linux refuses a program whose headers are larger than this, and so no real image has more.
const MAX_PROGRAM_HEADERS: usize = 65536 / size_of::<ProgramHeader64<LittleEndian>>();

/// Whether the loader chooses where the image goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// `ET_EXEC`: a program that is linked to fixed addresses.
    Executable,
    /// `ET_DYN`: a library, or a program that may be loaded anywhere.
    PositionIndependent,
}

/// An x86-64 program or shared library.
pub struct Image<'d> {
    pub(crate) file: &'d [u8],
    kind: ImageKind,
    entry: ImageOffset,
    interpreter: Option<&'d [u8]>,
    segments: Vec<Segment>,
    code: Vec<CodeRange<'d>>,
    notes: Notes<'d>,
    has_sections: bool,
    rseq_section: Option<(ImageOffset, &'d [u8])>,
    pub(crate) symbols: SymbolTable<'d>,
    pub(crate) dynamic_symbols: SymbolTable<'d>,
    pub(crate) eh_frame: Option<EhFrameBytes<'d>>,
    /// Where the sorted list of its entries is.
    eh_frame_header: Option<u64>,
    pub(crate) go_sections: GoSections,
    mini_debug: Option<&'d [u8]>,
    problem: Option<ImageError>,
}

impl<'d> Image<'d> {
    /// Reads the headers of `file`. Fails if the kernel or the loader could not load it on this kind of machine.
    pub fn parse(file: &'d [u8]) -> Result<Self, ImageError> {
        let (header, file_type) = header::read(file)?;
        let program_headers = program_headers(header, file)?;
        let mut image = Self::from_program_headers(header, file_type, program_headers, file);
        match header::sections(header, file) {
            Ok(sections) if !sections.is_empty() => image.read_sections(&sections),
            Ok(_) => image.do_without_sections(program_headers),
            Err(problem) => {
                image.note_problem(problem);
                image.do_without_sections(program_headers);
            }
        }
        code_range::sort_apart(&mut image.code);
        Ok(image)
    }

    fn from_program_headers(
        header: &Header,
        file_type: FileType,
        program_headers: &[ProgramHeader64<LittleEndian>],
        file: &'d [u8],
    ) -> Self {
        let mut image = Self {
            file,
            kind: if file_type == ET_EXEC { ImageKind::Executable } else { ImageKind::PositionIndependent },
            entry: ImageOffset(header.e_entry(LittleEndian)),
            interpreter: None,
            segments: Vec::new(),
            code: Vec::new(),
            notes: Notes::default(),
            has_sections: false,
            rseq_section: None,
            symbols: SymbolTable::default(),
            dynamic_symbols: SymbolTable::default(),
            eh_frame: None,
            eh_frame_header: None,
            go_sections: GoSections::default(),
            mini_debug: None,
            problem: None,
        };
        for program_header in program_headers {
            match program_header.p_type(LittleEndian) {
                PT_LOAD => image.segments.push(Segment::from_header(program_header)),
                PT_INTERP => {
                    image.interpreter = program_header.interpreter(LittleEndian, file).ok().flatten();
                }
                PT_GNU_EH_FRAME => image.eh_frame_header = Some(program_header.p_vaddr(LittleEndian)),
                PT_NOTE => {
                    let bytes = program_header.data(LittleEndian, file).unwrap_or_default();
                    image.notes.read(bytes, program_header.p_align(LittleEndian));
                }
                _ => {}
            }
        }
        image
    }

    fn read_sections(&mut self, sections: &Sections<'d>) {
        self.has_sections = true;
        let (mut eh_frame, mut text, mut got) = (None, None, None);
        for section in sections.iter() {
            let (address, size) = (section.sh_addr(LittleEndian), section.sh_size(LittleEndian));
            let name = section_name(sections, section);
            match name {
                b".text" => text = Some(address),
                b".got" => got = Some(address),
                b".eh_frame" => eh_frame = Some((address, size)),
                b".gnu_debugdata" => match section_bytes(section, self.file, "mini debug info") {
                    Ok(bytes) => self.mini_debug = Some(bytes),
                    Err(problem) => self.note_problem(problem),
                },
                b".gopclntab" | b".data.rel.ro.gopclntab" => self.go_sections.table = Some(ImageOffset(address)),
                b"__rseq_cs" => {
                    self.rseq_section = section.data(LittleEndian, self.file).ok().map(|it| (ImageOffset(address), it))
                }
                b".go.buildinfo" => self.go_sections.build_info = Some(ImageOffset(address)),
                // Where Swift's runtime looks for types and the like: no tool removes them.
                _ if name.starts_with(b"swift5_") => self.notes.swift = true,
                _ => {}
            }
            let executable = section.sh_flags(LittleEndian).contains(SHF_ALLOC | SHF_EXECINSTR);
            if executable && !is_plt(name) {
                self.code.extend(code_range::mapped_code(&self.segments, self.file, address, size));
            }
            if section.sh_type(LittleEndian) == SHT_NOTE && !self.notes.has_linkers_id() {
                let bytes = section.data(LittleEndian, self.file).unwrap_or_default();
                self.notes.read(bytes, section.sh_addralign(LittleEndian));
            }
        }
        self.eh_frame = eh_frame.and_then(|(address, size)| {
            let bytes = bytes_from(&self.segments, self.file, address)?;
            let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
            Some(EhFrameBytes { address, bytes: &bytes[..size], text, got, ends_at_terminator: false })
        });
        self.symbols = self.symbols_of(sections, SHT_SYMTAB);
        self.dynamic_symbols = self.symbols_of(sections, SHT_DYNSYM);
    }

    fn symbols_of(&mut self, sections: &Sections<'d>, kind: object::elf::SectionType) -> SymbolTable<'d> {
        SymbolTable::from_sections(sections, self.file, kind).unwrap_or_else(|problem| {
            self.note_problem(problem);
            SymbolTable::default()
        })
    }

    /// Finds with the loader's means what section headers would have said.
    fn do_without_sections(&mut self, program_headers: &[ProgramHeader64<LittleEndian>]) {
        for segment in self.segments.iter().filter(|segment| segment.executable) {
            self.code.push(CodeRange { start: segment.start, bytes: segment.file_bytes(self.file) });
        }
        for program_header in program_headers {
            let is_dynamic = program_header.p_type(LittleEndian) == PT_DYNAMIC;
            if is_dynamic && let Ok(Some(dynamic)) = program_header.dynamic(LittleEndian, self.file) {
                self.dynamic_symbols = SymbolTable::from_dynamic(dynamic, &self.segments, self.file);
            }
        }
        let header = self.eh_frame_header;
        self.eh_frame = header.and_then(|address| EhFrameBytes::from_header(&self.segments, self.file, address));
    }

    /// The list of unwind entries that unwinders look for theirs in, and its address.
    pub(crate) fn eh_frame_header(&self) -> Option<(u64, &'d [u8])> {
        let address = self.eh_frame_header?;
        Some((address, bytes_from(&self.segments, self.file, address)?))
    }

    fn note_problem(&mut self, problem: ImageError) {
        self.problem.get_or_insert(problem);
    }

    /// The id that the linker gave this image, which its debug file has too.
    pub fn build_id(&self) -> Option<&'d [u8]> {
        self.notes.build_id()
    }

    /// Whether the loader chooses where the image goes.
    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// The path of the loader that the program asks for.
    pub fn interpreter(&self) -> Option<&'d [u8]> {
        self.interpreter
    }

    /// Whether a program is loaded by the kernel alone. Libraries and the loader itself ask for no loader either, so
    /// this means something for the main program only.
    pub fn is_static(&self) -> bool {
        self.interpreter.is_none()
    }

    /// Where the kernel starts the program.
    pub fn entry(&self) -> ImageOffset {
        self.entry
    }

    /// What is mapped, in the order of the file.
    pub fn load_segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The section with descriptors of restartable sequences, and its bytes.
    pub(crate) fn rseq_section(&self) -> Option<(ImageOffset, &'d [u8])> {
        self.rseq_section
    }

    /// The executable bytes that may hold functions, sorted and disjoint, without the linker's jump stubs (`.plt`).
    /// An image without section headers cannot distinguish those, and gives its executable segments whole.
    pub fn code_ranges(&self) -> &[CodeRange<'d>] {
        &self.code
    }

    /// The code range with this address.
    pub fn code_range_at(&self, address: ImageOffset) -> Option<&CodeRange<'d>> {
        code_range::find(&self.code, address)
    }

    /// Where the dynamic symbol `name` is defined, be it a function or data.
    pub fn dynamic_symbol(&self, name: &str) -> Option<ImageOffset> {
        self.dynamic_symbols.find(name)
    }

    /// Where `name` is defined, by `.symtab` or else by the dynamic symbols.
    pub fn symbol(&self, name: &str) -> Option<ImageOffset> {
        self.symbols.find(name).or_else(|| self.dynamic_symbols.find(name))
    }

    /// Whether the image has its linker's symbols still, and not only those that others link to.
    pub fn has_symbol_table(&self) -> bool {
        self.symbols.len() > 0
    }

    /// Whether this is a Go program, whose goroutines change threads in the middle of functions.
    pub fn uses_go(&self) -> bool {
        self.notes.go || self.go_sections != GoSections::default()
    }

    /// Whether code of this image was written in Swift.
    pub fn uses_swift(&self) -> bool {
        self.notes.swift
    }

    /// Which control-flow checks the image was linked for.
    pub fn control_flow_protection(&self) -> ControlFlowProtection {
        self.notes.protection
    }

    /// Whether the image still has section headers.
    pub fn has_sections(&self) -> bool {
        self.has_sections
    }

    /// The decompressed ELF file inside `.gnu_debugdata`, if the image has that section.
    pub fn mini_debug_info(&self) -> Option<Result<Vec<u8>, ImageError>> {
        self.mini_debug.map(mini_debug::decompress)
    }

    /// The first thing met that could not be read, among what loading does not need.
    pub fn problem(&self) -> Option<&ImageError> {
        self.problem.as_ref()
    }
}

impl fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("kind", &self.kind).field("code", &self.code).finish_non_exhaustive()
    }
}

pub(crate) fn program_headers<'d>(
    header: &Header,
    file: &'d [u8],
) -> Result<&'d [ProgramHeader64<LittleEndian>], ImageError> {
    let malformed =
        |reason| ImageError::Malformed { part: "program headers", offset: header.e_phoff(LittleEndian), reason };
    let headers = header
        .program_headers(LittleEndian, file)
        .map_err(|_| malformed("they reach past the end of the file, or are of an unknown size"))?;
    if headers.is_empty() {
        return Err(malformed("there are none"));
    }
    if headers.len() > MAX_PROGRAM_HEADERS {
        return Err(malformed("there are more than Linux accepts"));
    }
    Ok(headers)
}

/// Sections of jump stubs: `.plt`, `.plt.got`, `.plt.sec`, `.iplt`.
fn is_plt(section_name: &[u8]) -> bool {
    section_name.starts_with(b".plt") || section_name.starts_with(b".iplt")
}
