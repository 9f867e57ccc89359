//! Functions with room for a short jump only, and the padding that takes the long one.

use std::ops::Range;

use ada_event::ImageOffset;
use ada_image::{FunctionTable, Image, UnwindTable};
use ada_patch::{Relay, SkipReason, Verdict};

use crate::planned::{Planned, assemble, build, plan, plan_with_exits, system_library};

/// A function of three bytes and then an instruction that is branched to; what is before and behind it, and what branches.
fn crowded(before: &str, behind: &str) -> String {
    format!(
        ".text
        {before}
        .type crowded, @function
        crowded: .cfi_startproc
            mov %rdi, %rax
        1:  cmp $16, %rdx
            ja 2f
            dec %rdx
            jmp 1b
        2:  ud2
        .cfi_endproc
        .size crowded, .-crowded
        {behind}"
    )
}

/// A function that ends so, with this padding behind it.
fn neighbour(name: &str, end: &str, padding: &str) -> String {
    format!(
        ".type {name}, @function
        {name}: .cfi_startproc
            mov $1, %eax
            mov $2, %ecx
            {end}
        .cfi_endproc
        .size {name}, .-{name}
        {padding}
        "
    )
}

fn verdict(text: &str) -> Verdict {
    function(&plan(&assemble(text)), "crowded").verdict
}

fn function<'a>(planned: &'a [Planned], name: &str) -> &'a Planned {
    planned.iter().find(|function| function.name.as_deref() == Some(name)).unwrap()
}

const NOPS: &str = ".byte 0x0f, 0x1f, 0x44, 0, 0";
const SKIPPED: Verdict = Verdict::Skipped(SkipReason::BranchIntoPatch);

#[test]
fn padding_before_or_behind_takes_the_jump() {
    for padding in [NOPS, ".skip 5, 0xcc", ".skip 9, 0x90"] {
        assert_eq!(verdict(&crowded(&neighbour("a", "ret", padding), "")), Verdict::Hooked, "{padding}");
    }
    let behind = format!("{}{}", neighbour("a", "jmp crowded", NOPS), neighbour("b", "ret", ""));
    assert_eq!(verdict(&crowded("", &behind)), Verdict::Hooked);
}

#[test]
fn padding_that_could_run_is_left_alone() {
    let cases = [
        ("none", neighbour("a", "ret", "")),
        ("too small", neighbour("a", "ret", ".skip 4, 0x90")),
        ("not padding", neighbour("a", "ret", ".byte 0x0f, 0x1f, 0x44, 0, 0, 0x50")),
        ("fallen into", neighbour("a", "inc %eax", NOPS)),
        ("a call may come back", neighbour("a", "call a", NOPS)),
        ("branched into", neighbour("a", "je 7f; ret", "nop; 7: .byte 0x0f, 0x1f, 0x44, 0, 0")),
        ("too far away", neighbour("a", "ret", NOPS) + &neighbour("b", ".skip 130, 0x50; ret", "")),
        ("inside a function", neighbour("a", &format!("ret; {NOPS}; ret"), "")),
        ("of no known end", format!("ret; {NOPS};")),
    ];
    for (case, before) in cases {
        assert_eq!(verdict(&crowded(&before, "")), SKIPPED, "{case}");
    }
}

#[test]
fn a_branch_to_the_second_byte_leaves_no_room_at_all() {
    let text = format!(
        "{} .type crowded, @function
        crowded: .cfi_startproc
            push %rbx
        1:  pop %rbx
            dec %edi
            jne 1b
            ret
        .cfi_endproc
        .size crowded, .-crowded",
        neighbour("a", "ret", NOPS)
    );
    assert_eq!(verdict(&text), SKIPPED);
}

#[test]
fn padding_that_the_function_before_needs_is_its_own() {
    // `ret` and its padding: the jump of this function takes five of the nine bytes.
    let before = ".type a, @function
        a: .cfi_startproc
            ret
        .cfi_endproc
        .size a, .-a
        .skip 8, 0x90
        ";
    let planned = plan(&assemble(&crowded(before, "")));
    assert_eq!(function(&planned, "a").verdict, Verdict::Hooked);
    assert_eq!(function(&planned, "crowded").verdict, SKIPPED);
}

#[test]
fn a_program_of_crowded_functions_is_hooked_without_overlap() {
    let planned = plan(&build("gcc", "crowded_entry.c", &["-O2"]));
    for name in ["crowded", "twin", "retry", "hop"] {
        let function = function(&planned, name);
        assert_eq!(function.verdict, Verdict::Hooked, "{name}");
        let ranges = function.plan.as_ref().unwrap().patched().count();
        assert_eq!(ranges, if name == "twin" { 1 } else { 2 }, "{name}");
    }
    assert_disjoint(&planned);
}

#[test]
fn in_the_system_s_libraries_nearly_all_is_hooked_and_nothing_overlaps() {
    for library in ["libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libm.so.6"] {
        let bytes = system_library(library);
        let planned = plan(&bytes);
        assert_disjoint(&planned);
        let image = Image::parse(&bytes).unwrap();
        let unwind = UnwindTable::parse(&image);
        let functions = FunctionTable::discover(&image, &unwind, &[]);
        for plan in planned.iter().filter_map(|function| function.plan.as_ref()) {
            let Some(Relay { at: relay, evicted: None }) = plan.relay else { continue };
            assert!(unwind.fde_at(relay).is_none() && functions.index_at(relay).is_none(), "{library} {relay}");
        }
        let parts = planned.iter().filter(|it| it.verdict == Verdict::Skipped(SkipReason::ColdPart)).count();
        let skipped = planned.iter().filter(|it| it.plan.is_none()).count() - parts;
        let found = planned.len() - parts;
        assert!(found > 200 && skipped * 100 <= found * 2, "{library}: {skipped} of {found}");
    }
}

fn assert_disjoint(planned: &[Planned]) {
    assert_apart(
        planned.iter().filter_map(|function| function.plan.as_ref()).flat_map(|plan| plan.patched()).collect(),
    );
}

fn assert_apart(mut ranges: Vec<Range<ImageOffset>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    for pair in ranges.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:x?}");
    }
}

/// No padding is near, but another function has instructions to spare.
#[test]
fn instructions_give_way_to_the_relay_of_an_entry() {
    let planned = |neighbour: &str| {
        plan_with_exits(&assemble(&crowded(neighbour, "")), |functions, planned| {
            let index = functions.find("crowded").unwrap();
            let mut ranges: Vec<Range<ImageOffset>> =
                planned.plans.iter().flat_map(|(_, plan)| plan.patched()).collect();
            ranges.extend(planned.exits.iter().flat_map(|exit| exit.patched()));
            assert_apart(ranges);
            let plan = planned.plans.into_iter().find(|(of, _)| *of == index).map(|(_, plan)| plan);
            (planned.verdicts[index], plan)
        })
    };
    let (verdict, plan) = planned(&neighbour("a", "mov $3, %edx; mov $4, %esi; mov $5, %edi; ret", ""));
    assert_eq!(verdict, Verdict::Hooked);
    let evicted = plan.unwrap().relay.unwrap().evicted.unwrap();
    assert_eq!(evicted.bytes()[..5], [0xb9, 2, 0, 0, 0], "behind the jump at the other function's own start");
    // Something leads into them.
    let entered = neighbour("a", "1: mov $3, %edx; mov $4, %esi; dec %rdi; jne 1b; ret", "");
    assert_eq!(planned(&entered).0, SKIPPED);
}
