// Calls functions with texts in all kinds of memory, and writes what they were called with to a file; then how many
// signals came while it made more of them. Arguments: the file, and a
// library that is loaded and unloaded. Linked with letters.c.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))
#define LENGTHS 160

enum { ONE = 128, SHARED = 88 };

enum { LETTERS = 8192, CALLS_OF_HANDLER = 40 };
const char *letters_of_library(void);

// Ends with a zero.
static const char alphabet[LENGTHS + 1] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+"
    "abcdefghijklmnopqrstuvwxyzABCDEF";

static FILE *truth;
static volatile sig_atomic_t handled;
static ucontext_t home, away;

KEPT int take(const char *text) { return text != NULL; }
KEPT int both(const char *one, long n, const char *other) { return one != other ? (int)n : 0; }
KEPT int sixth(int a, int b, int c, int d, int e, const char *text) { return text != NULL ? a + b + c + d + e : 0; }
KEPT int interrupting(const char *text) { return text != NULL; }

static void write_text(const char *text, size_t length, size_t most) {
    fprintf(truth, length < most ? "\"%.*s\"" : "\"%.*s\"…", (int)(length < most ? length : most), text);
}

// With the text, of which so many bytes are there, and a zero unless more are.
static void call(const char *text, size_t length) {
    fputs("take(", truth), write_text(text, length, ONE), fputs(") = 1\n", truth);
    take(text);
}

static void call_with_all_lengths(const char *end) {
    for (int length = 0; length <= LENGTHS; length += length < 34 ? 1 : 9)
        call(end - length, length);
}

static void calls_on_stack(void) {
    char here[4 * LENGTHS + 1];
    memset(here, 'x', sizeof here);
    memcpy(here + 3 * LENGTHS, alphabet, LENGTHS + 1);
    call_with_all_lengths(here + 4 * LENGTHS);
}

KEPT void calls_deep_down(int depth) {
    volatile char much[20000];
    much[depth] = 1;
    if (depth > 0)
        calls_deep_down(depth - 1);
    else
        calls_on_stack();
    much[depth] = 2;
}

static void *on_thread(void *of_creator) {
    calls_on_stack();
    call_with_all_lengths(of_creator);
    calls_deep_down(20);
    return NULL;
}

static void on_coroutine(void) {
    calls_on_stack();
    call_with_all_lengths(alphabet + LENGTHS);
    swapcontext(&away, &home);
}

static void handler(int signal) {
    (void)signal;
    char here[] = "on the stack of a handler";
    // So many that the next signal may be there before they are made, and that they go on in further chunks.
    for (int i = 0; i < CALLS_OF_HANDLER; i++)
        interrupting("a constant of a handler"), interrupting(here);
    handled++;
}

// The library's memory ends with its letters: what comes next is taken away.
static void calls_at_the_end(void) {
    const char *end = letters_of_library() + LETTERS;
    for (int before = 1; before <= ONE + 2; before++)
        // No zero follows, so that the text goes on, as far as anybody can say.
        fputs("take(", truth), write_text(end - before, before, before < ONE ? before : ONE), fputs(") = 1\n", truth),
            take(end - before);
}

static void calls_in_mapped_memory(void) {
    char *pages = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 8192, 4096);
    memcpy(pages + 4096 - 20, alphabet, LENGTHS + 1);
    call_with_all_lengths(pages + 4096 - 20 + LENGTHS);
    memset(pages + 8192 - 40, 'e', 40);
    fputs("take(", truth), write_text(pages + 8192 - 40, 40, 40), fputs(") = 1\n", truth);
    take(pages + 8192 - 40);
    munmap(pages, 8192);
    fprintf(truth, "take(%p) = 1\n", (void *)pages);
    take(pages);
}

static void calls_in_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    const char *(*letters)(void) = library ? (const char *(*)(void))dlsym(library, "letters_of_library") : NULL;
    if (letters == NULL || letters == letters_of_library)
        exit(3);
    const char *constants = letters();
    for (int i = 0; i < 30; i++)
        call(constants + i, ONE);
    dlclose(library);
    fprintf(truth, "take(%p) = 1\n", (void *)constants);
    take(constants);
}

static void calls_under_signals(void) {
    char stack[] = "a text on the stack", *heap = strdup("a text on the heap");
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 20000 || handled < 50; i++) {
        both("a constant", i, stack);
        both(heap, i, "another constant");
    }
    setitimer(ITIMER_REAL, &never, NULL);
    free(heap);
}

int main(int argc, char **argv) {
    truth = fopen(argc > 2 ? argv[1] : "/dev/null", "w");
    fprintf(truth, "take(null) = 0\n");
    take(NULL);
    fprintf(truth, "take(0x10) = 1\n");
    take((const char *)16);
    call_with_all_lengths(alphabet + LENGTHS);
    // Until the agent knows the stack.
    for (int i = 0; i < 8; i++)
        calls_on_stack();
    calls_deep_down(20);
    char *heap = malloc(LENGTHS + 1);
    memcpy(heap, alphabet, LENGTHS + 1);
    call_with_all_lengths(heap + LENGTHS);
    free(heap);
    fputs("both(", truth), write_text(alphabet, LENGTHS, SHARED), fputs(", 7, ", truth), write_text(alphabet + 150, 10, SHARED);
    fputs(") = 7\n", truth);
    both(alphabet, 7, alphabet + 150);
    fputs("both(null, 7, \"A\") = 7\n", truth);
    both(NULL, 7, "A");
    fputs("sixth(1, 2, 3, 4, 5, \"the sixth\") = 15\n", truth);
    sixth(1, 2, 3, 4, 5, "the sixth");

    pthread_t thread;
    char mine[LENGTHS + 1];
    memcpy(mine, alphabet, sizeof mine);
    pthread_create(&thread, NULL, on_thread, mine + LENGTHS);
    pthread_join(thread, NULL);

    char *stack = malloc(64 << 10);
    getcontext(&away);
    away.uc_stack.ss_sp = stack, away.uc_stack.ss_size = 64 << 10;
    makecontext(&away, on_coroutine, 0);
    swapcontext(&home, &away);
    free(stack);

    calls_in_mapped_memory();
    calls_in_library(argv[2]);
    long page = sysconf(_SC_PAGESIZE);
    const char *end = letters_of_library() + LETTERS;
    if ((long)end % page != 0 || munmap((void *)end, page) != 0)
        return 4;
    calls_at_the_end();
    calls_under_signals();
    fprintf(truth, "%d\n", (int)handled);
    fclose(truth);
    // The loader would look at what was taken away.
    _exit(0);
}
