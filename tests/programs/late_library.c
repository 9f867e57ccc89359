// Says "ready", and for each line loads the mathematical library, has it work, and unloads it.
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    char line[100];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        double (*root)(double) = (double (*)(double))dlsym(library, "cbrt");
        printf("%g\n", root(27) + root(8));
        fflush(stdout);
        dlclose(library);
    }
    return 0;
}
