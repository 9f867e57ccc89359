// Loads the library that the first argument names, calls it and closes it, five times.
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noipa)) int use_it(const char *path, int n) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return -1;
    int (*work)(int) = (int (*)(int))dlsym(library, "plugin_work");
    int result = work(n) + work(n + 1);
    return dlclose(library) + result;
}

int main(int argc, char **argv) {
    int sum = 0;
    for (int i = 0; i < 5; i++) sum += use_it(argv[argc - 1], i);
    printf("%d\n", sum);
    return 0;
}
