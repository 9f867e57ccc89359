// Continuations by copying the stack away and back, as Ruby's callcc and some Schemes make them.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    jmp_buf registers;
    char *low;
    size_t bytes;
    char *copy;
    int is_valid;
} Continuation;

static char *stack_base;
static Continuation continuations[8];
static volatile long sum;

__attribute__((noinline)) int capture(Continuation *to) {
    volatile char here;
    if (setjmp(to->registers) != 0) return 1;
    to->low = (char *)&here - 512;
    to->bytes = stack_base - to->low;
    to->copy = realloc(to->copy, to->bytes);
    memcpy(to->copy, to->low, to->bytes);
    to->is_valid = 1;
    return 0;
}

__attribute__((noinline)) void put_back(Continuation *from) {
    memcpy(from->low, from->copy, from->bytes);
    longjmp(from->registers, 1);
}

// Below what is about to be overwritten.
__attribute__((noinline)) void resume(Continuation *from, int depth) {
    char room[1024];
    volatile char *touched = room;
    touched[0] = depth;
    touched[1023] = 1;
    if (room > from->low - 4096) {
        resume(from, depth + 1);
    } else {
        put_back(from);
    }
    sum += touched[0];
}

__attribute__((noinline)) int nest(int depth, Continuation *to) {
    if (depth == 0) return capture(to);
    int result = nest(depth - 1, to);
    sum += depth;
    return result;
}

int main(void) {
    char here;
    stack_base = &here + 256;
    static int visits[8];
    for (int number = 0; number < 8; number++) {
        static int resumed;
        nest(number + 3, &continuations[number]);
        visits[number]++;
        if (++resumed < 200) {
            int other = resumed % 8;
            if (continuations[other].is_valid && other <= number) resume(&continuations[other], 0);
        }
    }
    printf("%ld", sum);
    for (int number = 0; number < 8; number++) printf(" %d", visits[number]);
    puts("");
}
