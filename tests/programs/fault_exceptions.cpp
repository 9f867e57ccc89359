// Exceptions thrown by the handler of a fault at the first or the last instructions of a function.
#include <csignal>
#include <cstdio>
#include <stdexcept>

static void handler(int) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    throw std::runtime_error("fault");
}

__attribute__((noipa)) int at_entry(int *p) { return *p; }
__attribute__((noipa)) int at_exit(int *p, int k) { return k == 1 ? 1 : *p; }
__attribute__((noipa)) int in_loop(int *p) {
    int sum = p[0];
    for (int i = 1; i < 10; i++) sum = sum * 3 + p[i];
    return sum;
}

int main() {
    std::signal(SIGSEGV, handler);
    int caught = 0, sum = 0, one = 3;
    for (int i = 0; i < 50; i++) {
        try { sum += at_entry(i % 2 ? &one : nullptr); } catch (std::exception &) { caught++; }
        try { sum += at_exit(i % 2 ? &one : nullptr, i % 5); } catch (std::exception &) { caught++; }
        try { sum += in_loop(nullptr); } catch (std::exception &) { caught++; }
    }
    std::printf("%d caught, %d\n", caught, sum);
}
