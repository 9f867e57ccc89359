# Labels without a type, as hand-written assembly has them: one with an unwind entry, one without.
    .text
    .globl labelled
labelled:
    .cfi_startproc
    lea 1(%rdi), %rax
    ret
    .cfi_endproc

    .globl unmarked
unmarked:
    xor %eax, %eax
    ret

# Jumped into in the middle of a frame: an unwind entry, but no function.
    .globl middle
middle:
    .cfi_startproc
    .cfi_def_cfa_offset 32
    add $24, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc

# Returned to by the kernel.
    .globl after_signal
after_signal:
    .cfi_startproc
    .cfi_signal_frame
    ud2
    .cfi_endproc

    .globl main
    .type main, @function
main:
    .cfi_startproc
    xor %eax, %eax
    ret
    .cfi_endproc
    .size main, . - main
    .section .note.GNU-stack, "", @progbits
