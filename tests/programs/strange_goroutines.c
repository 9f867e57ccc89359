/* Functions with the names of Go's scheduler, and goroutines that look like those of no version. */
static volatile int turns;
#define SCHEDULER(name) __attribute__((noinline)) void name(void) __asm__("runtime." #name); \
    void name(void) { turns++; }
SCHEDULER(newproc1)
SCHEDULER(execute)
SCHEDULER(gopark)
SCHEDULER(goexit0)
SCHEDULER(schedule)

int main(void)
{
    for (int turn = 0; turn < 10; turn++) {
        newproc1();
        execute();
        gopark();
        schedule();
        goexit0();
    }
    return 0;
}
