// Threads that reach what they run through the standard library's wrappers.
#include <future>
#include <thread>

#define CALL __attribute__((noipa))
static volatile int sink;
CALL int compute(int number) { return sink += number; }
struct Worker {
    CALL void run(int number) { sink += number; }
};

int main() {
    Worker worker;
    std::thread(&Worker::run, &worker, 1).join();
    std::async(std::launch::async, compute, 2).get();
    std::async(std::launch::async, [] { return compute(3); }).get();
    std::packaged_task<int(int)> task(compute);
    std::thread(std::move(task), 4).join();
    return 0;
}
