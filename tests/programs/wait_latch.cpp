// A thread waits at a latch of C++20 until two others have counted down. Prints the ids of the one that waits and of the last
// one that counts down.
#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>
#include <unistd.h>

static std::latch ready(2);

__attribute__((noipa)) void arrive(int after)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(after));
    ready.count_down();
}

__attribute__((noipa)) void await_all() { ready.wait(); }

int main()
{
    int last = 0;
    std::thread first([] { arrive(5); }), second([&last] { last = gettid(); arrive(120); });
    await_all();
    first.join();
    second.join();
    std::printf("%d %d\n", gettid(), last);
}
