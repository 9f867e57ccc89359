// A coroutine is left in the middle of a call that was handed a function. Its creator calls that function itself meanwhile.
#include <stdio.h>
#include <ucontext.h>

static ucontext_t creator, coroutine;
static char stack[64 << 10];
static volatile int sink;

__attribute__((noipa)) static void visit(int number) { sink += number; }
__attribute__((noipa)) static void each(void (*callback)(int)) {
    callback(1);
    swapcontext(&coroutine, &creator);
    callback(3);
    sink++;
}
__attribute__((noipa)) static void own(void) {
    visit(2);
    sink++;
}
static void run(void) { each(visit); }

int main(void) {
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    coroutine.uc_link = &creator;
    makecontext(&coroutine, run, 0);
    swapcontext(&creator, &coroutine);
    own();
    swapcontext(&creator, &coroutine);
    printf("%d\n", sink);
    return 0;
}
