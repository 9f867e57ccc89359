// Boost's fibers and its bare contexts, with exceptions inside and through them.
#include <boost/context/continuation.hpp>
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace fibers = boost::fibers;
namespace context = boost::context;

static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static long part(int number) {
    long sum = 0;
    for (int round = 0; round < 20; round++) {
        try {
            if (round % 4 == 0) throw std::runtime_error("fourth");
            sum += fib(5 + (number + round) % 8);
        } catch (const std::runtime_error &) {
            sum--;
        }
        boost::this_fiber::yield();
    }
    if (number % 10 == 0) throw std::logic_error("tenth");
    return sum;
}

int main() {
    std::vector<fibers::future<long>> parts;
    for (int number = 0; number < 100; number++) {
        fibers::packaged_task<long()> task([number] { return part(number); });
        parts.push_back(task.get_future());
        fibers::fiber(std::move(task)).detach();
    }
    long sum = 0;
    int failed = 0;
    for (auto &one : parts) {
        try {
            sum += one.get();
        } catch (const std::logic_error &) {
            failed++;
        }
    }
    int steps = 0;
    context::continuation other = context::callcc([&steps](context::continuation &&back) {
        for (; steps < 1000; steps++) back = back.resume();
        return std::move(back);
    });
    while (other) other = other.resume();
    std::printf("%ld %d %d\n", sum, failed, steps);
}
