// Functions in assembler that run on into the next one over what aligns it, as those of C libraries do: one with room for a jump in
// the padding, one that is shorter than a jump, and one that may also leave for another function.
#include <stdio.h>

int doubled(int), doubled_sum(int, int), doubled_next(int), checked(int, int);

__attribute__((used, noipa)) int refused(int number) { return -number; }

__asm__(".text\n"
        ".macro function name\n"
        ".globl \\name\n .type \\name, @function\n"
        "\\name: .cfi_startproc\n"
        ".endm\n"
        ".macro end name\n"
        ".cfi_endproc\n .size \\name, . - \\name\n"
        ".endm\n"
        ".p2align 4\n"
        "function checked\n"
        "cmp %esi, %edi\n jg refused\n .p2align 5\n"
        "end checked\n"
        "function doubled_sum\n"
        "add %esi, %edi\n add $0x1000, %edi\n sub $0x1000, %edi\n .p2align 5\n"
        "end doubled_sum\n"
        "function doubled_next\n"
        "inc %edi\n .p2align 4\n"
        "end doubled_next\n"
        "function doubled\n"
        "mov %edi, %eax\n add %eax, %eax\n imul $1, %eax, %eax\n ret\n"
        "end doubled\n");

int main(void) {
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        // checked(7, 5) is refused(7); others run through all of them.
        sum += doubled(i) + doubled_next(i) + doubled_sum(i, 2) + checked(i, 50);
    }
    printf("%d\n", sum);
    return 0;
}
