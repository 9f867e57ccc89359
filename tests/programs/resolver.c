// A function whose implementation is chosen when the program is bound: with `-z now`, before anything of it runs.
#include <stdio.h>

static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));

int main(void) {
    printf("%d\n", chosen());
    return 0;
}
