// Loads the library that the first argument names three times at once, twice into a namespace of its own, and calls the
// first copy once, the second twice, the third three times.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const char *path = argv[argc - 1];
    int sum = 0;
    for (int copy = 0; copy < 3; copy++) {
        void *library = copy == 0 ? dlopen(path, RTLD_NOW) : dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
        if (!library) return 1;
        int (*work)(int) = (int (*)(int))dlsym(library, "plugin_work");
        for (int call = 0; call <= copy; call++) sum += work(call);
    }
    printf("%d\n", sum);
    return 0;
}
