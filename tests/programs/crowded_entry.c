// Functions whose first five bytes are branched into, as those of memcpy are: only a short jump fits there. `twin` comes
// in behind the first instruction of `crowded`; `retry` loops to its own second instruction; `hop` jumps over nothing.
#include <stdio.h>

__asm__(".text\n"
        ".p2align 6\n"
        ".type before, @function\n"
        "before: .cfi_startproc\n"
        "    lea 1(%rdi), %rax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size before, .-before\n"
        ".p2align 5\n"
        ".globl crowded\n"
        ".type crowded, @function\n"
        "crowded: .cfi_startproc\n"
        "    mov %rdi, %rax\n"
        "1:  add %rsi, %rax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size crowded, .-crowded\n"
        ".p2align 5\n"
        ".globl twin\n"
        ".type twin, @function\n"
        "twin: .cfi_startproc\n"
        "    lea 1000(%rdi), %rax\n"
        "    jmp 1b\n"
        ".cfi_endproc\n"
        ".size twin, .-twin\n"
        ".p2align 4\n"
        ".globl retry\n"
        ".type retry, @function\n"
        "retry: .cfi_startproc\n"
        "    xor %eax, %eax\n"
        "1:  inc %eax\n"
        "    dec %edi\n"
        "    jne 1b\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size retry, .-retry\n"
        ".p2align 4\n"
        ".globl hop\n"
        ".type hop, @function\n"
        "hop: .cfi_startproc\n"
        "    jmp 1f\n"
        "1:  lea 7(%rdi), %rax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size hop, .-hop\n"
        ".p2align 4\n"
        ".type after, @function\n"
        "after: .cfi_startproc\n"
        "    lea 2(%rdi), %rax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size after, .-after\n");

long crowded(long a, long b);
long twin(long a, long b);
int retry(int count);
long hop(long a);

int main(void) {
    long sum = 0;
    for (long i = 0; i < 10; i++) {
        sum += crowded(i, 2) + twin(i, 3) + hop(i);
    }
    sum += retry(5);
    printf("%ld\n", sum);
    return 0;
}
