// Threads come together and ask for what is done once: by `pthread_once`, by C++'s `std::call_once`, and as a variable that is made when a
// function is first called. One of them does it, and sleeps meanwhile. Prints for each time: how, what (0 where that has no name), who did it, and of all others that
// came before it was done, their ids. The argument is how many times; of variables there are eight, or as many as the compiler is told. "itself" asks again while it does
// it, which never ends.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#ifndef VARIABLES
#define VARIABLES 8
#endif

enum { THREADS = 4 };

static pthread_barrier_t meeting;
static std::atomic<int> did;
static std::vector<pthread_once_t> controls;
static std::vector<std::once_flag> *flags;

__attribute__((noipa)) void initialise()
{
    usleep(1000);
    did = gettid();
}

// They give something back, so that they do not end by a jump to what they wait in.
__attribute__((noipa)) int ask_pthread(int round) { return pthread_once(&controls[round], initialise) + 1; }

__attribute__((noipa)) int ask_call_once(int round)
{
    std::call_once((*flags)[round], initialise);
    return 1;
}

struct Made {
    Made() { initialise(); }
};

template <int N> __attribute__((noipa)) void *ask_variable()
{
    static Made made;
    return &made;
}

template <int... N> std::array<void *(*)(), sizeof...(N)> variables(std::integer_sequence<int, N...>)
{
    return {ask_variable<N>...};
}

static const auto all_variables = variables(std::make_integer_sequence<int, VARIABLES>());

static void ask(int way, int round)
{
    if (way == 0)
        ask_pthread(round);
    else if (way == 1)
        ask_call_once(round);
    else
        all_variables[round]();
}

static void ask_itself() { pthread_once(&controls[0], ask_itself); }

int main(int words, char **word)
{
    int rounds = words > 1 ? atoi(word[1]) : 8;
    if (words > 1 && !strcmp(word[1], "itself")) {
        controls.resize(1, PTHREAD_ONCE_INIT);
        printf("%d %p\n", gettid(), (void *)&controls[0]);
        fflush(stdout);
        alarm(1);
        ask_itself();
    }
    controls.resize(rounds, PTHREAD_ONCE_INIT);
    flags = new std::vector<std::once_flag>(rounds);
    pthread_barrier_init(&meeting, nullptr, THREADS);
    for (int way = 0; way < 3; way++) {
        int last = way == 2 ? VARIABLES : rounds;
        std::vector<std::array<int, THREADS>> came(last);
        std::vector<int> ids(THREADS), doers(last);
        auto work = [&](int number) {
            ids[number] = gettid();
            for (int round = 0; round < last; round++) {
                pthread_barrier_wait(&meeting);
                did = 0;
                pthread_barrier_wait(&meeting);
                came[round][number] = did == 0;
                ask(way, round);
                pthread_barrier_wait(&meeting);
                doers[round] = did;
            }
        };
        std::vector<std::thread> threads;
        for (int number = 0; number < THREADS; number++)
            threads.emplace_back(work, number);
        for (auto &thread : threads)
            thread.join();
        static const char *const names[] = {"pthread", "call_once", "variable"};
        for (int round = 0; round < last; round++) {
            void *objects[] = {&controls[round % rounds], &(*flags)[round % rounds], nullptr};
            printf("%s %p %d", names[way], objects[way], doers[round]);
            for (int number = 0; number < THREADS; number++)
                if (came[round][number] && ids[number] != doers[round])
                    printf(" %d", ids[number]);
            puts("");
        }
    }
}
