// Loads copies of a library, and is interrupted in the last one. With -DLIBRARY this is the library. A handler looks whether the code
// that it has interrupted is the program's own, and counts those that are not.
#define _GNU_SOURCE
#ifdef LIBRARY
int turn(int value) {
    for (int i = 0; i < 20; i++) __asm__ volatile("" : "+r"(value));
    return value + 1;
}
#else
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

#define SAMPLES 3000
#define MOST 4096
static struct { unsigned long start, end; } code[MOST];
static int codes;
static volatile int in_library, samples, wrong;

static int note(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    for (int i = 0; i < info->dlpi_phnum && codes < MOST; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        code[codes].start = info->dlpi_addr + part->p_vaddr;
        code[codes++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

static void handler(int signal, siginfo_t *information, void *context) {
    (void)signal, (void)information;
    unsigned long at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (!in_library || samples >= SAMPLES) return;
    int is_known = 0;
    for (int i = 0; i < codes; i++) is_known |= at >= code[i].start && at < code[i].end;
    samples++;
    wrong += !is_known;
}

int main(int argc, char **argv) {
    int (*turn)(int) = 0;
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library || !(turn = (int (*)(int))dlsym(library, "turn"))) return 1;
    }
    dl_iterate_phdr(note, 0);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval often = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, 0);
    int value = 0;
    in_library = 1;
    while (samples < SAMPLES) value = turn(value);
    in_library = 0;
    printf("%d samples, %d wrong\n", samples, wrong);
    return value == 0;
}
#endif
