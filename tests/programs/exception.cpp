// Exceptions through fifty frames: plain ones, and ones with something to destroy.
#include <cstdio>
#include <stdexcept>

static volatile int sink;
struct Guard { __attribute__((noipa)) ~Guard() { sink += 1; } };

__attribute__((noipa)) int plain(int n) {
    if (n == 1) throw std::runtime_error("plain");
    return plain(n - 1) + 1;
}
__attribute__((noipa)) int guarded(int n) {
    Guard guard;
    if (n == 1) throw std::runtime_error("guarded");
    return guarded(n - 1) + 1;
}
__attribute__((noipa)) int after(int n) { sink += n; return n; }
__attribute__((noipa)) int survivor(int (*thrower)(int)) {
    try {
        return thrower(50);
    } catch (const std::exception &error) {
        std::puts(error.what());
        return after(2);
    }
}
__attribute__((noipa)) int outer(int (*thrower)(int)) { return survivor(thrower) + after(1); }

int main() {
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += outer(i % 2 ? plain : guarded);
    std::printf("%d %d\n", sum, sink);
    return sum;
}
