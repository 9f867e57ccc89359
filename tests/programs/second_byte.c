// Goes on at the second byte of functions, whose address it computes: as Go has goroutines return into goexit.
#include <stdio.h>

int by_one(int n), by_constant(int n), by_sum(int n);
__asm__(".text\n"
        ".p2align 4\n.type first,@function\nfirst: .cfi_startproc\nnop\nlea 7(%rdi),%eax\nret\n.cfi_endproc\n.size first,.-first\n"
        ".p2align 4\n.type second,@function\nsecond: .cfi_startproc\nxchg %ax,%ax\nlea 8(%rdi),%eax\nret\n.cfi_endproc\n"
        ".size second,.-second\n"
        ".p2align 4\n.type third,@function\nthird: .cfi_startproc\nnop\nnop\nnop\nlea 9(%rdi),%eax\nret\n.cfi_endproc\n"
        ".size third,.-third\n"
        ".p2align 4\n.globl by_one\n.type by_one,@function\nby_one: .cfi_startproc\n"
        "lea first(%rip),%rdx\ninc %rdx\njmp *%rdx\n.cfi_endproc\n.size by_one,.-by_one\n"
        ".p2align 4\n.globl by_constant\n.type by_constant,@function\nby_constant: .cfi_startproc\n"
        "lea second(%rip),%rcx\nadd $2,%rcx\njmp *%rcx\n.cfi_endproc\n.size by_constant,.-by_constant\n"
        ".p2align 4\n.globl by_sum\n.type by_sum,@function\nby_sum: .cfi_startproc\n"
        "lea third(%rip),%rcx\nlea 3(%rcx),%rdx\njmp *%rdx\n.cfi_endproc\n.size by_sum,.-by_sum\n");

int main(void) {
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += by_one(i) + by_constant(i) + by_sum(i);
    printf("%d\n", sum);
    return 0;
}
