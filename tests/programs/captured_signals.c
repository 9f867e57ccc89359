// Makes calls with values on the heap and in vector registers while a timer fires at 10 kHz, whose handler makes the same calls. Ends with
// 1 where one of them goes wrong, or where the timer did not fire.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define KEPT __attribute__((noipa))

struct place { const char *name; long line; int column; };

KEPT double both(const char *text, double a) { return text == NULL ? a : 2 * a; }
KEPT int at(const struct place *place) { return place->column; }
KEPT const char *same(const char *text) { return text; }

static volatile long handled;
static char *heap;
static struct place *where;

static int is_right(double a) {
    return both(heap, a) == 2 * a && at(where) == 8 && same(heap) == heap;
}

static void tick(int signal) {
    (void)signal;
    handled++;
    if (!is_right(1.5))
        abort();
}

int main(void) {
    struct sigaction action = {.sa_handler = tick};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    heap = strdup("on the heap");
    where = malloc(sizeof *where);
    *where = (struct place){heap, 7, 8};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 40000; i++)
        if (!is_right(0.5))
            return 1;
    setitimer(ITIMER_REAL, &never, NULL);
    return handled == 0;
}
