// Two processes that call more than can be written meanwhile. All calls of tick do the same.
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int tick(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

int main(void) {
    pid_t child = fork();
    int value = 0;
    for (int i = 0; i < 2000000; i++) value = tick(value);
    if (!child) _exit(0);
    return waitpid(child, 0, 0) != child;
}
