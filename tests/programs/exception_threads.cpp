// Eight threads that throw and catch at the same time, some through a library's function.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

static volatile int sink;
__attribute__((noipa)) int descend(int n) {
    if (n == 1) throw std::runtime_error("x");
    return descend(n - 1) + 1;
}
__attribute__((noipa)) int attempt(int n) {
    try {
        return descend(n);
    } catch (const std::exception &) {
        return 1;
    }
}
__attribute__((noipa)) void body(int *sum) {
    for (int i = 0; i < 100; i++) *sum += attempt(10);
}

int main() {
    int sums[8] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(body, &sums[i]);
    for (auto &thread : threads) thread.join();
    int sum = 0;
    for (int n : sums) sum += n;
    std::printf("%d\n", sum);
    return 0;
}
