//! Ways out of functions that have no room as they are.

use ada_event::ImageOffset;
use ada_image::Image;
use ada_patch::{Behind, DisplacedExit, EntryOnlyReason, ExitPlan, Leaving, SkipReason, Verdict};

use crate::planned::{assemble, plan_with_exits};

struct Exits {
    verdict: Verdict,
    entry: Leaving,
    exits: Vec<ExitPlan>,
}

/// What is planned for the one function `f` of some assembler text.
fn exits(text: &str) -> Exits {
    plan_with_exits(&assemble(text), |functions, planned| {
        let index = functions.find("f").unwrap();
        let entry = planned.plans.iter().find(|(of, _)| *of == index).map(|(_, plan)| plan.leaving);
        let exits = planned.exits.into_iter().filter(|exit| exit.function as usize == index).collect();
        Exits { verdict: planned.verdicts[index], entry: entry.unwrap_or_default(), exits }
    })
}

fn function(body: &str) -> String {
    format!(
        ".text
        .globl f
        .type f, @function
        f: .cfi_startproc
            {body}
        .cfi_endproc
        .size f, .-f
        .globl g
        .type g, @function
        g: .cfi_startproc
            mov $1, %eax
            mov $2, %ecx
            mov $3, %edx
            ret
        .cfi_endproc
        .size g, .-g"
    )
}

/// A function that begins so, with a `ret` of one byte at `1` between instructions that others lead to.
fn with_lone_return(begin: &str) -> String {
    function(&format!(
        "{begin}
        jmp 2f
    1:  ret
    2:  mov $2, %eax
        cmp $9, %rsi
        je 2b
        mov $4, %ecx
        ret"
    ))
}

#[test]
fn a_lone_return_is_caught_at_the_jumps_to_it() {
    let planned = exits(&with_lone_return(
        "mov $1, %eax
        cmp $7, %rdi
        je 1f
        mov (%rsi), %rax
        cmp $9, %rdi
        je 1f",
    ));
    assert_eq!(planned.verdict, Verdict::Hooked);
    let jumps = planned.exits.iter().filter(|exit| exit.displaced.leaving().returns != 0);
    assert_eq!(jumps.count(), 2, "{:?}", planned.exits);
    assert_eq!(planned.entry, Leaving::default());
}

/// The entry displaces the jump, and records the return.
#[test]
fn a_jump_to_a_return_at_the_entry_is_the_entrys_to_tell_of() {
    let planned = exits(&with_lone_return(
        "test %edi, %edi
        je 1f
        mov (%rsi), %rax",
    ));
    assert_eq!(planned.verdict, Verdict::Hooked);
    assert_eq!(planned.entry, Leaving { returns: 2, ..Leaving::default() });
}

/// A switch at the height of the returns forbids everything, unless its table is read.
fn switch(entries: &str) -> String {
    function(&format!(
        "cmp $3, %edi
        ja 9f
        lea 8f(%rip), %rdx
        movslq (%rdx,%rdi,4), %rax
        add %rdx, %rax
        jmp *%rax
    1:  mov $1, %eax
        ret
    2:  mov $2, %eax
        ret
    3:  mov $3, %eax
        ret
    9:  mov $9, %eax
        ret
        .section .rodata
        .balign 4
    8:  {entries}
        .text"
    ))
}

#[test]
fn the_cases_of_a_switch_are_read_from_its_table() {
    let planned = exits(&switch(".long 1b - 8b, 2b - 8b, 3b - 8b, 9b - 8b"));
    assert_eq!(planned.verdict, Verdict::Hooked);
    assert_eq!(planned.exits.len(), 4);
}

/// The last case leads to the `ret` alone, which is then the first byte of a block.
#[test]
fn a_case_within_an_end_is_not_overwritten() {
    let planned = exits(&switch(".long 1b - 8b, 2b - 8b, 3b + 5 - 8b, 9b - 8b"));
    for exit in &planned.exits {
        let (start, end) = (exit.at.0, exit.at.0 + exit.displaced.bytes().len() as u64);
        for other in &planned.exits {
            assert!(other.at.0 == start || !(start..end).contains(&other.at.0), "{:?}", planned.exits);
        }
    }
    let is_third = |exit: &&ExitPlan| exit.displaced.bytes() == [0xb8, 3, 0, 0, 0, 0xc3];
    assert_eq!(planned.exits.iter().find(is_third), None);
}

fn evicted(exit: &ExitPlan) -> Option<DisplacedExit> {
    exit.relay?.evicted
}

/// No padding, and two bytes before a block that something leads to.
#[test]
fn other_instructions_give_way_to_a_relay() {
    let planned = exits(&function(
        "mov $1, %eax
        cmp $7, %rdi
        mov $5, %ecx
        mov $6, %edx
        mov $7, %r8d
        cmp %rsi, %rdi
    1:  jne 2f
        call g
        pop %rcx
        ret
    2:  dec %esi
        jne 1b
        mov $2, %eax
        ret",
    ));
    assert_eq!(planned.verdict, Verdict::Hooked);
    let evicting: Vec<&ExitPlan> = planned.exits.iter().filter(|exit| evicted(exit).is_some()).collect();
    let [exit] = evicting[..] else { panic!("{:?}", planned.exits) };
    assert_eq!(exit.displaced.bytes(), [0x59, 0xc3]);
    assert!(evicted(exit).unwrap().bytes().len() >= 10);
}

/// A part that only a branch leads to, among others like it, with no padding near: code of another part gives way.
#[test]
fn parts_of_other_functions_give_way_to_a_relay() {
    let hot = |name: &str| {
        format!(
            ".globl {name}
            .type {name}, @function
            {name}: .cfi_startproc
                mov (%rdi), %rax
                mov 8(%rdi), %rcx
                cmp %rax, %rcx
                je {name}.cold
                mov $1, %eax
                ret
            .cfi_endproc
            .size {name}, .-{name}
            .skip 512, 0x50
            "
        )
    };
    let cold = |name: &str, body: &str| {
        format!(
            ".type {name}.cold, @function
            {name}.cold: .cfi_startproc
                {body}
            .cfi_endproc
            .size {name}.cold, .-{name}.cold
            "
        )
    };
    let planned = exits(&format!(
        ".text
        {}{}
        .section .text.unlikely, \"ax\", @progbits
        {}{}",
        hot("f"),
        hot("g"),
        cold("g", "mov $2, %eax; mov $3, %ecx; mov $4, %edx; ud2"),
        cold("f", "xor %eax, %eax; ret"),
    ));
    assert_eq!(planned.verdict, Verdict::Hooked);
    let evicting: Vec<&ExitPlan> = planned.exits.iter().filter(|exit| evicted(exit).is_some()).collect();
    let [exit] = evicting[..] else { panic!("{:?}", planned.exits) };
    assert_eq!(exit.displaced.bytes(), [0x31, 0xc0, 0xc3]);
    assert_eq!(evicted(exit).unwrap().bytes()[..5], [0xb8, 2, 0, 0, 0]);
}

/// Cases that hardly ever occur, in a part with an unwind entry like a function's and no name. Only the table leads there.
#[test]
fn a_part_that_only_a_table_leads_to_is_no_function() {
    let text = switch(".long 1b - 8b, 2b - 8b, 3b - 8b, 6f - 8b, inner - 8b, 9b - 8b");
    let part = "
        .section .text.unlikely, \"ax\", @progbits
        .skip 21, 0xcc
        .cfi_startproc
    6:  inc %esi
        inner: mov %esi, %eax
        inc %eax
        ret
        .cfi_endproc";
    let bytes = assemble(&(text + part));
    let inner = Image::parse(&bytes).unwrap().symbol("inner").unwrap();
    plan_with_exits(&bytes, |functions, planned| {
        let part = functions.index_at(ImageOffset(inner.0 - 2)).unwrap();
        assert_eq!(planned.verdicts[part], Verdict::Skipped(SkipReason::ColdPart));
        let entries = planned.plans.iter().flat_map(|(_, plan)| plan.patched());
        for patched in entries.chain(planned.exits.iter().flat_map(|exit| exit.patched())) {
            assert!(patched.start >= inner || patched.end <= inner, "{patched:?}");
        }
    });
}

/// Whatever else the function names, such a jump leads to another.
#[test]
fn a_jump_through_the_linkers_slot_is_a_tail_call() {
    let planned = exits(&function(
        "lea 1f(%rip), %rax
        mov %rax, (%rsi)
    1:  mov $2, %eax
        jmp *elsewhere@GOTPCREL(%rip)",
    ));
    assert_eq!(planned.verdict, Verdict::Hooked);
    let [exit] = planned.exits[..] else { panic!("{:?}", planned.exits) };
    assert_eq!(exit.displaced.leaving(), Leaving { tails: 1, ..Leaving::default() });
}

/// A word of the data has the address by a relocation against the function's symbol.
#[test]
fn an_address_that_a_relocation_names_is_not_overwritten() {
    let body = "mov $1, %eax
        mov %edi, %ecx
        mov %esi, %edx
        inc %eax
        ret
        .data
        .quad f + 9
        .text";
    let bytes = assemble(&function(body));
    let named = ImageOffset(Image::parse(&bytes).unwrap().symbol("f").unwrap().0 + 9);
    plan_with_exits(&bytes, |_, planned| {
        for patched in planned.exits.iter().flat_map(ExitPlan::patched) {
            assert!(patched.start >= named || patched.end <= named, "{patched:?}");
        }
    });
}

/// Six hundred functions lead into the same code, which names the same long table six hundred times.
#[test]
fn a_hostile_image_does_not_take_for_ever() {
    let functions: String = (0..600).map(|number| format!(".type f{number}, @function\nf{number}: jmp 1f\n")).collect();
    let text = format!(
        ".text
        {functions}
    1:  .rept 600
        lea 8f(%rip), %rdx
        .endr
        movslq (%rdx,%rdi,4), %rax
        add %rdx, %rax
        jmp *%rax
        .section .rodata
        .balign 4
    8:  .rept 65536
        .long 1b - 8b
        .endr"
    );
    let begun = std::time::Instant::now();
    plan_with_exits(&assemble(&text), |_, planned| {
        let verdicts = &planned.verdicts;
        assert!(verdicts.contains(&Verdict::EntryOnly(EntryOnlyReason::UnseenExits)), "{verdicts:?}");
    });
    // Where each table is read each time, half as many of both take 50 s.
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

/// What lies between two of the few functions that are known is not one function. It begins where the first is called.
#[test]
fn megabytes_behind_an_entry_are_not_its_function() {
    let text =
        |instructions: usize| format!(".text\n.globl f\n.type f, @function\nf: .fill {instructions}, 5, 0x1b8\nret");
    let small = exits(&text(100));
    assert_eq!(small.verdict, Verdict::Hooked);
    assert_eq!(small.exits.len(), 1);
    let large = exits(&text(1 << 20));
    assert_eq!(large.verdict, Verdict::EntryOnly(EntryOnlyReason::UnseenExits));
    assert_eq!(large.exits.len(), 0);
}

/// Assembler functions with a start of their own, which run on into the next one over what aligns that.
#[test]
fn a_function_that_runs_on_over_padding_is_left_there() {
    let planned = exits(&function("cmp %rdx, %rcx\n jb g\n nopl 0(%rax, %rax)\n nopw 0(%rax, %rax)"));
    assert_eq!(planned.verdict, Verdict::Hooked);
    let [exit] = planned.exits[..] else { panic!("{:?}", planned.exits) };
    assert_eq!(exit.displaced.leaving(), Leaving { behind: Behind::Other, ..Leaving::default() });
    assert_eq!(exit.displaced.bytes().first_chunk(), Some(&[0x0f, 0x1f]));
    assert_eq!(planned.entry, Leaving { tails: 2, ..Leaving::default() }, "the jump to another function");
}

/// The jump at its start takes padding too: then that stub is all of it.
#[test]
fn a_function_shorter_than_a_jump_runs_on_from_its_stub() {
    let planned = exits(&function("xor %ecx, %ecx\n nopw 0(%rax, %rax)"));
    assert_eq!(planned.verdict, Verdict::Hooked);
    assert_eq!(planned.entry, Leaving { behind: Behind::Other, ..Leaving::default() });
    assert!(planned.exits.is_empty());
}

/// Too short for a jump, or something leads into the middle of it.
#[test]
fn padding_that_cannot_take_a_jump_leaves_an_exit_unseen() {
    let unseen = Verdict::EntryOnly(EntryOnlyReason::UnseenExits);
    for body in [
        "mov $1, %ecx\n nop",
        "mov $1, %ecx\n test %ecx, %ecx\n je 1f\n mov $2, %ecx\n nopl 0(%rax, %rax)\n 1: nopl 0(%rax, %rax)",
    ] {
        assert_eq!(exits(&function(body)).verdict, unseen, "{body}");
    }
}

/// As glibc's `pthread_spin_lock`: who finds the lock taken looks at it until it is free, and begins again.
fn spinning(hint: &str, jump: &str) -> String {
    function(&format!(
        "1:  lock decl (%rdi)
            jne 2f
            xor %eax, %eax
            ret
            .balign 16
        2:  {hint}
            cmpl $0, (%rdi)
            {jump}
            jmp 2b"
    ))
}

#[test]
fn a_function_that_spins_to_its_own_start_is_hooked_and_its_turns_are_led_past_the_hook() {
    let planned = exits(&spinning("pause", "jg 1b"));
    assert_eq!(planned.verdict, Verdict::Hooked);
    let turns = planned.exits.iter().filter(|exit| exit.displaced.leaving() == Leaving::default());
    let turn = turns.filter(|exit| exit.displaced.bytes().ends_with(&[0x7f, 0xe9])).collect::<Vec<_>>();
    assert_eq!((turn.len(), planned.exits.len()), (1, 2), "{:?}", planned.exits);
    assert!(turn[0].is_shared, "it stays when the function's exits go");
}

/// Other loops would take longer for it, and what the entry displaces leads to the hook.
#[test]
fn other_loops_to_the_own_start_are_left_alone() {
    for text in [spinning("nop", "jg 1b"), function("1: pause\n decl (%rdi)\n jne 1b\n mov $1, %eax\n ret")] {
        assert_eq!(exits(&text).verdict, Verdict::Skipped(SkipReason::OwnEntryLoop), "{text}");
    }
}
