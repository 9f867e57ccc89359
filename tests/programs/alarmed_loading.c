/* Loads and unloads libraries while a timer's signals arrive, most of them while the recorder hooks what was loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t handled;

__attribute__((noipa)) void handle(int signal)
{
    (void)signal;
    handled++;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGALRM, &action, 0);
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    const char *names[] = {"libm.so.6", "libresolv.so.2", "libnss_compat.so.2", "libthread_db.so.1", "libcrypt.so.1"};
    enum { COUNT = sizeof names / sizeof names[0] };
    int opened = 0;
    for (int round = 0; round < 200; round++) {
        void *libraries[COUNT];
        for (int at = 0; at < COUNT; at++)
            opened += !!(libraries[at] = dlopen(names[at], at % 2 ? RTLD_NOW : RTLD_LAZY));
        for (int at = 0; at < COUNT; at++)
            if (libraries[at])
                dlclose(libraries[at]);
    }
    setitimer(ITIMER_REAL, &never, 0);
    printf("opened %d\n", opened);
    return 0;
}
