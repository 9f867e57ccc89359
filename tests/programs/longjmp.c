// longjmp over ten frames, three times, and calls afterwards.
#include <setjmp.h>
#include <stdio.h>

static jmp_buf buffer;
static volatile int sink;
__attribute__((noipa)) int descend(int n) {
    if (n == 1) longjmp(buffer, 1);
    return descend(n - 1) + 1;
}
__attribute__((noipa)) int after(int n) { sink += n; return sink; }
__attribute__((noipa)) int attempt(void) {
    if (setjmp(buffer) == 0) return descend(10);
    return after(1);
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += attempt();
    printf("%d\n", sum);
    return after(2);
}
