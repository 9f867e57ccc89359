// Sibling calls: each function jumps to the next one and never returns itself. Compiled with
// -foptimize-sibling-calls.
#include <stdio.h>

static volatile int sink;
__attribute__((noipa)) int last(int n) { sink += n; return n * 2; }
__attribute__((noipa)) int middle(int n) { sink += 1; return last(n + 1); }
__attribute__((noipa)) int first(int n) { sink += 2; return middle(n + 1); }
__attribute__((noipa)) int pong(int n);
__attribute__((noipa)) int ping(int n) { sink += n; return n == 0 ? 1 : pong(n - 1); }
__attribute__((noipa)) int pong(int n) { sink -= n; return n == 0 ? 2 : ping(n - 1); }
__attribute__((noipa)) int plain(int n) { return first(n) + first(n); }

int main(void) {
    printf("%d\n", plain(3));
    printf("%d\n", ping(100000));
    return 7;
}
