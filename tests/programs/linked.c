// Uses a library that the loader loads with the program, whose constructor runs before main.
#include <stdio.h>

int plugin_work(int n);
__attribute__((constructor, noipa)) void own_constructor(void) { puts("constructor"); }

int main(void) {
    printf("%d\n", plugin_work(3));
    return 0;
}
