// std::thread with a function and with a lambda, and std::async.
#include <cstdio>
#include <future>
#include <thread>

static volatile long sink;
__attribute__((noipa)) long work(long n) { sink = sink + n; return n * 2; }
__attribute__((noipa)) void plain_function(long n) { work(n); }

int main() {
    std::thread first(plain_function, 1);
    first.join();
    std::thread second([] { work(2); });
    second.join();
    auto third = std::async(std::launch::async, [](long n) { return work(n) + 1; }, 3L);
    std::printf("%ld %ld\n", third.get(), (long)sink);
    return 0;
}
