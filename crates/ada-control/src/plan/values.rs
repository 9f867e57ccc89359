//! Of which functions values are captured, and how: capture programs are probes that are made as they are needed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ada_event::ImageOffset;
use ada_image::{FunctionTable, FunctionType, Image, function_types, go_function_types, is_of_go_library};
use ada_patch::ErrnoPlace;
use ada_ring::Pool;
use ada_ring::probe::{MAX_PROBES, Role};
use ada_value::{ByDefault, Convention, Prototype, Signature, is_c_library, is_cxx_library, known};

use crate::function_pattern::matches_name;
use crate::options::{CapturedValues, TraceOptions};
use crate::pattern_set::PatternSet;
use crate::plan::captured_functions::{CapturedFunction, CapturedFunctions};
use crate::plan::debug_files::{DebugFile, OWN, is_own};
use crate::plan::futex_functions::futex_functions;
use crate::plan::image_file::ImageFile;
use crate::plan::plan_cache::{PlanKey, TypeCache};
use crate::plan::planned_image::PlannedImage;
use crate::plan::task_completions::task_completions;
use crate::plan::{declared, declared_go, probes};

/// What a session captures.
pub(crate) struct Values {
    choice: CapturedValues,
    /// The patterns of that choice.
    patterns: PatternSet,
    /// Functions whose values are captured once somebody asks for them.
    later: Vec<String>,
    /// The patterns of these.
    later_patterns: PatternSet,
    /// Functions and parameters whose values are kept back.
    redacted: Vec<String>,
    /// How many pointers one behind the other lead to structures whose fields are captured.
    depth: usize,
    pool: Pool,
    /// What was read of debug information before.
    types: TypeCache,
    /// The numbers of the probes that stand for capture programs.
    programs: Mutex<HashMap<(Program, Role), u32>>,
    /// Functions that found no room for theirs.
    left_out: AtomicU64,
}

/// The reads at a call, and at a return.
type Program = [Vec<u64>; 2];

/// Functions that say where `errno` is.
const ERRNO_LOCATION: [&str; 2] = ["__errno_location", "___errno_location"];

impl Values {
    pub(crate) fn new(options: &TraceOptions, pool: Pool) -> Self {
        let set = |patterns: &[String]| PatternSet::new(patterns.iter().filter(|it| *it != OWN).cloned());
        let patterns = match &options.values {
            CapturedValues::Matching(patterns) => set(patterns),
            CapturedValues::Usual | CapturedValues::None => PatternSet::default(),
        };
        Self {
            choice: options.values.clone(),
            patterns,
            later: options.values_later.clone(),
            later_patterns: set(&options.values_later),
            redacted: options.redacted.clone(),
            depth: options.field_depth,
            pool,
            types: TypeCache::new(options.plan_folder.clone()),
            programs: Mutex::default(),
            left_out: AtomicU64::new(0),
        }
    }

    /// What was asked for and not captured, in words.
    pub(crate) fn limits(&self) -> impl Iterator<Item = String> {
        let unmet = [&self.patterns, &self.later_patterns].map(|patterns| patterns.unmet("the pattern"));
        unmet.into_iter().flatten().chain(self.limit())
    }

    fn limit(&self) -> Option<String> {
        let left_out = self.left_out.load(Ordering::Relaxed);
        let most = MAX_PROBES - probes::count();
        (left_out > 0).then(|| {
            format!("values of {left_out} functions are not captured: a session has room for {most} kinds of captures; name fewer functions with --args")
        })
    }

    /// What is captured of an image.
    pub(crate) fn of_image(&self, image: &PlannedImage) -> CapturedFunctions {
        let (path, functions) = (&*image.file.path, &image.functions);
        let futexes = futex_functions(path, functions);
        let completions = task_completions(path, functions);
        let thread_result = thread_result_distance(path, functions);
        if self.choice == CapturedValues::None && self.later.is_empty() {
            return CapturedFunctions { futexes, completions, thread_result, ..CapturedFunctions::default() };
        }
        let file_name = file_name(path);
        let known = (0..functions.len()).filter_map(|index| Some((index, self.known(functions, index)?)));
        if is_c_library(&file_name) {
            let errno = errno_place(path, functions);
            return CapturedFunctions { by_index: known.collect(), futexes, completions, errno, thread_result };
        }
        let mut by_index = self.declared(image);
        if is_cxx_library(&file_name) {
            for (index, captured) in known {
                by_index.entry(index).or_insert(captured);
            }
        }
        CapturedFunctions { by_index, futexes, completions, errno: None, thread_result }
    }

    /// A function of the C library or of libstdc++.
    fn known(&self, functions: &FunctionTable, index: usize) -> Option<CapturedFunction> {
        // A resolver has the name of what it chooses an implementation of, and none of its arguments.
        if functions.functions().get(index)?.is_resolver() {
            return None;
        }
        let is_named = functions.names(index).filter(|name| self.patterns.has_name(name)).count() > 0;
        let known = functions.names(index).find_map(known)?;
        let is_asked_for = is_named || self.patterns.has_name(&known.prototype.name);
        if probes::leaves_no_values(functions, index) {
            return None;
        }
        let prototype = known.prototype.clone();
        let are_none = self.choice == CapturedValues::None;
        let is_later = || {
            functions.names(index).filter(|name| self.later_patterns.has_name(name)).count() > 0
                || self.later_patterns.has_name(&known.prototype.name)
        };
        match known.by_default {
            _ if is_asked_for => self.captured(functions, index, prototype, Role::None),
            by_default if (by_default == ByDefault::Nothing || are_none) && is_later() => {
                let captured = self.captured(functions, index, prototype, Role::None)?;
                Some(CapturedFunction { is_later: true, ..captured })
            }
            ByDefault::Nothing => None,
            _ if are_none => None,
            ByDefault::Registers => self.captured(functions, index, prototype.registers_only(), Role::Usual),
            ByDefault::Everything => self.captured(functions, index, prototype, Role::Usual),
        }
    }

    /// Functions whose types are in debug information, if the user wants them.
    fn declared(&self, image: &PlannedImage) -> BTreeMap<usize, CapturedFunction> {
        let (path, functions) = (&*image.file.path, &image.functions);
        let asked_for = if let CapturedValues::Matching(patterns) = &self.choice { &patterns[..] } else { &[] };
        let has_own = |patterns: &[String]| patterns.iter().any(|pattern| pattern == OWN) && is_own(path);
        let (are_own, are_own_later) = (has_own(asked_for), has_own(&self.later));
        // Go's own packages, which each of its programs brings along, are no more the program's own than a library is.
        let is_go = is_go(functions);
        let is_usable = |name: &str| if is_go { !name.ends_with(GO_ASSEMBLER) } else { !declared::is_clone(name) };
        let is_own_name = |name: &str| !is_go || !is_of_go_library(name);
        let is_asked_for =
            |name: &&str| (self.patterns.has_name(name) || are_own && is_own_name(name)) && is_usable(name);
        let is_later =
            |name: &&str| (self.later_patterns.has_name(name) || are_own_later && is_own_name(name)) && is_usable(name);
        let is_wanted = |name: &&str| is_asked_for(name) || is_later(name);
        let is_one = |index: usize| {
            functions.names(index).filter(is_wanted).count() > 0 && !probes::leaves_no_values(functions, index)
        };
        // Patterns know whether they were met, by functions of which nothing else is known too.
        let are_named = !self.patterns.is_empty() || !self.later_patterns.is_empty();
        let named: Option<HashSet<usize>> =
            are_named.then(|| (0..functions.len()).filter(|index| is_one(*index)).collect());
        if !are_own && !are_own_later && named.as_ref().is_none_or(HashSet::is_empty) {
            return BTreeMap::new();
        }
        let wanted = |start: ImageOffset| {
            let index = functions.functions().binary_search_by_key(&start, |function| function.start).ok()?;
            named.as_ref().map_or_else(|| is_one(index), |named| named.contains(&index)).then_some(index)
        };
        let prototypes = self.prototypes(image, &|start| wanted(start).is_some(), are_own || are_own_later);
        let captured = |(start, prototype): (ImageOffset, Prototype)| {
            let index = wanted(start)?;
            let role = if prototype.convention == Convention::Go { Role::GoValues } else { Role::None };
            let captured = self.captured(functions, index, prototype, role)?;
            let is_later = functions.names(index).filter(is_asked_for).count() == 0;
            Some((index, CapturedFunction { is_later, ..captured }))
        };
        prototypes.into_iter().filter_map(captured).collect()
    }

    /// What debug information says of wanted functions, by their addresses. Where these are all, it is kept for the next time.
    fn prototypes(
        &self,
        image: &PlannedImage,
        is_wanted: &dyn Fn(ImageOffset) -> bool,
        are_all: bool,
    ) -> Vec<(ImageOffset, Prototype)> {
        let Ok(file) = ImageFile::open(&image.file.path) else { return Vec::new() };
        let debug_file = image.debug_file.as_ref().and_then(DebugFile::open);
        let key = PlanKey::of_types(&file, image.build_id.as_deref(), debug_file.as_ref(), self.depth);
        if let Some(known) = self.types.load(&key, is_wanted) {
            return known;
        }
        // What is kept has all functions, also those of Go's own packages, which somebody may name the next time.
        let is_any = |_: ImageOffset| true;
        let is_read: &dyn Fn(ImageOffset) -> bool = if are_all { &is_any } else { is_wanted };
        let types = function_types(Box::new(debug_file.unwrap_or(file)), is_read, self.depth);
        let prototype = |(start, ty): &(ImageOffset, FunctionType)| (*start, declared::prototype(ty));
        let mut prototypes: Vec<(ImageOffset, Prototype)> = types.iter().map(prototype).collect();
        if is_go(&image.functions) {
            prototypes.extend(self.go_prototypes(image, is_read).unwrap_or_default());
        }
        if are_all && !prototypes.is_empty() {
            self.types.keep(&key, &prototypes);
        }
        prototypes.retain(|(start, _)| is_wanted(*start));
        prototypes
    }

    /// The same of functions of Go.
    fn go_prototypes(
        &self,
        image: &PlannedImage,
        is_wanted: &dyn Fn(ImageOffset) -> bool,
    ) -> Option<Vec<(ImageOffset, Prototype)>> {
        let debug_file = image.debug_file.as_ref().and_then(DebugFile::open);
        let file = debug_file.or_else(|| ImageFile::open(&image.file.path).ok())?;
        let types = go_function_types(Box::new(file), is_wanted, self.depth);
        Some(types.iter().map(|(start, ty)| (*start, declared_go::prototype(ty))).collect())
    }

    fn captured(
        &self,
        functions: &FunctionTable,
        index: usize,
        prototype: Prototype,
        role: Role,
    ) -> Option<CapturedFunction> {
        let is_redacted = |name: &str| self.redacted.iter().any(|pattern| matches_name(pattern, name));
        if !self.redacted.is_empty() && functions.names(index).any(is_redacted) {
            return None;
        }
        let of_function =
            |parameter: &str| functions.names(index).any(|name| is_redacted(&format!("{name}.{parameter}")));
        let prototype = prototype.redacted(&|parameter| is_redacted(parameter) || of_function(parameter))?;
        let signature = Signature::of(prototype);
        let is_asked_for = role != Role::Usual;
        Some(CapturedFunction { probe: self.number_of(&signature, role)?, signature, is_asked_for, is_later: false })
    }

    /// The number of the probe that captures what a signature asks for; none where the table is full.
    fn number_of(&self, signature: &Signature, role: Role) -> Option<u32> {
        let program = [false, true].map(|end| signature.reads(end).map(|read| read.packed()).collect::<Vec<u64>>());
        let mut programs = self.programs.lock().expect("nobody panics with the lock");
        let key = (program, role);
        if let Some(&number) = programs.get(&key) {
            return Some(number);
        }
        let number = probes::count() + programs.len();
        if number >= MAX_PROBES {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let entry = &self.pool.orders().probes[number];
        entry.role.store(role as u64, Ordering::Relaxed);
        for (words, reads) in [&entry.call, &entry.back].into_iter().zip(&key.0) {
            words.iter().zip(reads).for_each(|(word, read)| word.store(*read, Ordering::Relaxed));
        }
        programs.insert(key, number as u32);
        Some(number as u32)
    }
}

/// How functions in assembler are called, whose arguments are on the stack.
const GO_ASSEMBLER: &str = ".abi0";

/// Whether there is a function that every program of Go has.
fn is_go(functions: &FunctionTable) -> bool {
    ["runtime.goexit", "runtime.goexit.abi0"].iter().any(|name| functions.find(name).is_some())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn errno_place(path: &Path, functions: &FunctionTable) -> Option<ErrnoPlace> {
    told_by_code(path, functions, &ERRNO_LOCATION, ada_patch::errno_place)
}

/// Of a C library that has the call by which threads end.
fn thread_result_distance(path: &Path, functions: &FunctionTable) -> Option<u64> {
    probes::THREAD_ENDS.iter().find_map(|name| functions.find(name))?;
    told_by_code(path, functions, &["pthread_exit", "__pthread_exit"], ada_patch::thread_result_distance)
}

/// What the code of the first function that there is of these tells.
fn told_by_code<T>(
    path: &Path,
    functions: &FunctionTable,
    names: &[&str],
    tell: impl Fn(&[u8], ImageOffset) -> Option<T>,
) -> Option<T> {
    let index = names.iter().find_map(|name| functions.find(name))?;
    let start = functions.functions().get(index)?.start;
    let file = ImageFile::open(path).ok()?;
    let image = Image::parse(file.bytes()).ok()?;
    tell(image.code_range_at(start)?.bytes_from(start)?, start)
}
