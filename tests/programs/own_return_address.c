// Looks at its return addresses: by the compiler's word, in its frame, and by walking all frames.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *name_at(void *address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_sname ? info.dli_sname : "?";
}

__attribute__((noinline)) const char *caller(void) { return name_at(__builtin_return_address(0)); }

__attribute__((noinline)) const char *caller_in_frame(void) {
    void **frame = __builtin_frame_address(0);
    return name_at(frame[1]);
}

__attribute__((noinline)) int walk(void) {
    int found = 0;
    void **frame = __builtin_frame_address(0);
    for (int depth = 0; frame && depth < 20; depth++) {
        found += !strcmp(name_at(frame[1]), "nest");
        void **next = frame[0];
        if (next <= frame) break;
        frame = next;
    }
    return found;
}

__attribute__((noinline)) int nest(int depth) {
    volatile int kept = depth;
    int found = depth == 0 ? walk() : nest(depth - 1);
    return found + kept - kept;
}

__attribute__((noinline)) int asks(void) {
    puts(caller());
    puts(caller_in_frame());
    return 0;
}

int main(void) {
    asks();
    printf("%d\n", nest(6));
    printf("%d\n", dlsym(RTLD_NEXT, "malloc") != NULL);
    return 0;
}
