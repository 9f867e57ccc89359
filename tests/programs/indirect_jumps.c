// Jumps whose targets only tables, stored addresses and sums of them tell. Each of these functions lost a case to a hook
// that was written over it.
#include <stdio.h>

#define INC asm volatile("inc %0" : "+a"(v))
#define DEC asm volatile("dec %0" : "+a"(v))
#define XOR(n) asm volatile("xor $" #n ",%0" : "+a"(v))

int cold_calls, is_locked;

__attribute__((cold, noinline)) int cold(int x) { asm volatile(""); cold_calls += x; return x + 1; }

// The first case of the second switch is in the cold part.
__attribute__((noinline)) int two_switches(unsigned k, unsigned m, int v) {
    switch (m) {
    case 0: XOR(1); break;
    case 1: XOR(2); break;
    case 2: XOR(3); break;
    case 3: XOR(4); break;
    case 4: XOR(5); break;
    case 5: XOR(6); break;
    default: break;
    }
    switch (k) {
    case 0: cold(v); cold(5); return v;
    case 1: XOR(11);
    case 2: INC; return v;
    case 3: XOR(12);
    case 4: DEC; return v;
    case 5: XOR(13);
    case 6: INC; INC; return v;
    default: return v;
    }
}

// Cases that cannot occur: clang leads them to the end of the function.
__attribute__((noinline)) int holes(unsigned k, int v) {
    switch (k) {
    case 0: XOR(1);
    case 1: INC; return v;
    case 4: XOR(2);
    case 5: DEC; return v;
    case 9: XOR(3);
    case 11: INC; INC; return v;
    case 14: XOR(4);
    case 15: DEC; DEC; return v;
    default: __builtin_unreachable();
    }
}

static void *base;
static const int *distances;

// Labels as distances from one of them, stored as addresses.
__attribute__((noinline)) int threaded(void **program, int v) {
    static const int from_first[] = {0, &&l1 - &&l0, &&l2 - &&l0, &&l3 - &&l0, &&l4 - &&l0, &&l5 - &&l0};
    if (!program) {
        base = &&l0;
        distances = from_first;
        return 0;
    }
    goto **program++;
l0: XOR(1);
l1: XOR(5); goto **program++;
l2: XOR(9);
l3: INC; return v;
l4: XOR(11);
l5: DEC; return v;
}

static void *state;

// A generator: goes on where it was told to.
__attribute__((noinline)) int resumed(int start, int v) {
    static void *const labels[] = {&&a, &&b, &&c, &&d};
    if (start >= 0) {
        state = labels[start];
        return v;
    }
    goto *state;
a: XOR(1);
b: INC; return v;
c: XOR(2);
d: DEC; return v;
}

// A jump over a prefix, into the middle of an instruction.
asm(".text\n.type over_prefix, @function\nover_prefix: .cfi_startproc\n"
    " cmpl $0, is_locked(%rip)\n jg 1f\n je 0f\n .byte 0xf0\n"
    "0: decl (%rdi)\n ret\n"
    "1: decl (%rdi)\n ret\n .cfi_endproc\n.size over_prefix, .-over_prefix\n");
void over_prefix(int *);

int main(void) {
    static const unsigned real[] = {0, 1, 4, 5, 9, 11, 14, 15};
    long sum = 0;
    threaded(0, 0);
    for (int i = 0; i < 2000; i++) {
        void *program[4];
        for (int step = 0; step < 3; step++)
            program[step] = (char *)base + distances[(i >> step) % 2];
        program[3] = (char *)base + distances[2 + i % 4];
        resumed(i % 4, 0);
        is_locked = i & 1 ? -1 : 0;
        int counter = i;
        over_prefix(&counter);
        sum = sum * 31 + two_switches(i % 9, i % 7, i) + holes(real[i % 8], i) + threaded(program, i) + resumed(-1, i) + counter;
    }
    printf("%ld %d\n", sum, cold_calls);
    return 0;
}
