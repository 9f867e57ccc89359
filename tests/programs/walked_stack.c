// Walks its stack with libunwind, and names what it finds.
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>

__attribute__((noinline)) int walk(void) {
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    int frames = 0;
    do {
        char name[64] = "?";
        unw_word_t offset;
        unw_get_proc_name(&cursor, name, sizeof name, &offset);
        puts(name);
        frames++;
    } while (unw_step(&cursor) > 0 && frames < 20);
    return frames;
}

__attribute__((noinline)) int descend(int depth) { return depth == 0 ? walk() : descend(depth - 1) + 1; }

int main(void) {
    printf("%d\n", descend(4));
    return 0;
}
