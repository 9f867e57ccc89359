// Threads wait for each other with what C++20 has for it: "latch" (two count down, one waits), "barrier" (three meet), "semaphore" (two
// hand something to each other). The second argument is how many rounds there are. Prints for each wait: the id of who waits, the number of
// its call of `await_all`, and the id of the one that ends it; of the one that comes last, its own. Whoever ends a wait comes when the others sleep in
// the kernel: before that, they yield, which takes long on a busy machine.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct Wait {
    int thread, turn, last;
};

static int rounds = 1;

// Whether a thread is in the kernel's call for futexes.
static bool is_parked(int id)
{
    char path[64], text[4] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    int file = open(path, O_RDONLY);
    bool is = read(file, text, 3) == 3 && !strcmp(text, "202");
    close(file);
    return is;
}

static void await_parked(int id)
{
    while (!is_parked(id))
        std::this_thread::sleep_for(std::chrono::microseconds(50));
}

__attribute__((noipa)) void arrive(std::latch &latch) { latch.count_down(); }

/* They give something back, so that they do not end by a jump to what they wait in. */
__attribute__((noipa)) int await_all(std::latch &latch)
{
    latch.wait();
    return 1;
}

template <typename Barrier> __attribute__((noipa)) int await_all(Barrier &barrier)
{
    barrier.arrive_and_wait();
    return 1;
}

__attribute__((noipa)) int await_all(std::binary_semaphore &semaphore)
{
    semaphore.acquire();
    return 1;
}

__attribute__((noipa)) void give(std::binary_semaphore &semaphore) { semaphore.release(); }

static std::vector<Wait> by_latch()
{
    std::deque<std::latch> latches;
    for (int round = 0; round < rounds; round++)
        latches.emplace_back(2);
    std::atomic<int> waits_in = -1, arrived_in = -1;
    int waiter = gettid(), ids[2];
    auto count_down = [&](int number) {
        ids[number] = gettid();
        for (int round = 0; round < rounds; round++) {
            if (number == round % 2) {
                while (waits_in != round || arrived_in != round)
                    std::this_thread::sleep_for(std::chrono::microseconds(20));
                await_parked(waiter);
                arrive(latches[round]);
            } else {
                arrive(latches[round]);
                arrived_in = round;
            }
        }
    };
    std::thread first(count_down, 0), second(count_down, 1);
    for (int round = 0; round < rounds; round++) {
        waits_in = round;
        await_all(latches[round]);
    }
    first.join(), second.join();
    std::vector<Wait> waits;
    for (int round = 0; round < rounds; round++)
        waits.push_back({waiter, round, ids[round % 2]});
    return waits;
}

static std::vector<Wait> by_barrier()
{
    enum { THREADS = 3 };
    std::vector<int> lasts;
    auto note = [&]() noexcept { lasts.push_back(gettid()); };
    std::barrier barrier(THREADS, note);
    std::atomic<int> ids[THREADS] = {}, waits_in[THREADS] = {-1, -1, -1};
    auto meet = [&](int number) {
        ids[number] = gettid();
        for (int round = 0; round < rounds; round++) {
            for (int other = 0; other < THREADS && number == round % THREADS; other++) {
                while (other != number && waits_in[other] != round)
                    std::this_thread::sleep_for(std::chrono::microseconds(20));
                if (other != number)
                    await_parked(ids[other]);
            }
            waits_in[number] = round;
            await_all(barrier);
        }
    };
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; number++)
        threads.emplace_back(meet, number);
    for (auto &thread : threads)
        thread.join();
    std::vector<Wait> waits;
    for (int round = 0; round < rounds; round++)
        for (int id : ids)
            waits.push_back({id, round, lasts[round]});
    return waits;
}

static std::vector<Wait> by_semaphore()
{
    std::binary_semaphore given[2] = {std::binary_semaphore(1), std::binary_semaphore(0)};
    std::atomic<int> ids[2] = {}, turns[2] = {};
    auto play = [&](int own) {
        ids[own] = gettid();
        for (int round = 0; round < rounds; round++) {
            turns[own] = round;
            await_all(given[own]);
            /* The second one has not come yet, or is a round behind; at the end nobody waits. */
            while (round < rounds - 1 && (ids[!own] == 0 || turns[!own] != round + own))
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            if (round < rounds - 1)
                await_parked(ids[!own]);
            give(given[!own]);
        }
    };
    std::thread first(play, 0), second(play, 1);
    first.join(), second.join();
    std::vector<Wait> waits;
    for (int round = 0; round < rounds; round++)
        for (int own = 0; own < 2; own++)
            waits.push_back({ids[own], round, ids[!own]});
    return waits;
}

int main(int words, char **word)
{
    std::string way = words > 1 ? word[1] : "latch";
    if (words > 2)
        rounds = atoi(word[2]);
    for (Wait wait : way == "latch" ? by_latch() : way == "barrier" ? by_barrier() : by_semaphore())
        std::printf("%d %d %d\n", wait.thread, wait.turn, wait.last);
}
