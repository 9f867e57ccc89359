// A parallel loop of OpenMP on four threads.
#include <stdio.h>

__attribute__((noipa)) long work(long n) { return n * 2; }
int main(void) {
    long sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum) schedule(static)
    for (long i = 0; i < 1000; i++) sum += work(i);
    printf("%ld\n", sum);
    return 0;
}
