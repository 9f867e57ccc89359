// Calls functions with values that it knows, and writes each call, as ada is to show it, into the file in its first argument.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, visibility("default")))
// clang does not pass what a function never looks at.
#if defined(__clang__) && defined(__OPTIMIZE__)
#define UNUSED_X "<optimized away>"
#else
#define UNUSED_X "1.0"
#endif
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

enum colour { RED, GREEN = 5, NONE = -2 };
struct pair { long first; int second; };
struct point { double x, y; };
struct mixed { double x; int n; };
struct big { long words[5]; };
struct person { const char *name; int age; struct person *friend; char tag[4]; enum colour favourite; struct pair at; };
// So small that it would be passed in registers, and leads to itself.
struct list { struct list *next; int value; };
typedef const char *name_t;
static volatile int touched;

KEPT int add(int a, long b) { OPAQUE(a); return a + (int)b; }
KEPT unsigned char narrow(signed char a, unsigned short b) { OPAQUE(a); return (unsigned char)(a + b); }
KEPT bool both(bool a, bool b) { OPAQUE(a); return a && b; }
KEPT char letter(char c) { OPAQUE(c); return (char)(c + 1); }
KEPT name_t greet(name_t name) { OPAQUE(name); return name; }
KEPT enum colour mix(enum colour a, enum colour b) { OPAQUE(a); return b; }
KEPT int deref(const int *p) { OPAQUE(p); return p ? *p : -1; }
KEPT void *keep(void *p) { OPAQUE(p); return p; }
KEPT long many(int a, int b, int c, int d, int e, int f, int g, long h) { OPAQUE(a); return a + b + c + d + e + f + g + h; }
KEPT double scale(double x, int by) { OPAQUE(by); return x * by; }
KEPT float half(float x, int n, double y) { OPAQUE(n); return x / 2 + 0 * (float)y; }
KEPT double mean(double a, double b, const char *unit, double c, float d) { OPAQUE(unit); return (a + b + c + d) / 4; }
KEPT __int128 widen(__int128 a, unsigned long b) { OPAQUE(b); return a * b; }
KEPT long take_pair(struct pair p, int after) { OPAQUE(after); return p.first + p.second + after; }
KEPT long take_point(struct point p, int after) { OPAQUE(after); return (long)(p.x + p.y) + after; }
KEPT long take_mixed(struct mixed m, int after) { OPAQUE(after); return m.n + after; }
KEPT long take_big(struct big b, int after) { OPAQUE(after); return b.words[4] + after; }
KEPT struct big make_big(int seed) { struct big b = {{seed, 2, 3, 4, 5}}; OPAQUE(seed); return b; }
KEPT struct point make_point(double x, double y) { struct point p = {x, y}; __asm__ volatile("" ::: "memory"); return p; }
KEPT int age(const struct person *who) { OPAQUE(who); return who > (struct person *)4096 ? who->age : -1; }
KEPT int first(const struct list *list) { OPAQUE(list); return list->value; }
KEPT int look_away(int unused, int n) { (void)unused; OPAQUE(n); return n + 1; }
KEPT int apply(int (*function)(int, long), int x) { OPAQUE(x); return function(x, 1); }
KEPT long long_double(int before, long double x, int after) { OPAQUE(after); return before + (long)x + after; }
KEPT long double twice(long double x, int by) { OPAQUE(by); return x * by; }
KEPT void nothing(void) { touched++; }

static FILE *truth;

__attribute__((format(printf, 1, 2))) static void expect(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(truth, format, arguments);
    va_end(arguments);
    fputc('\n', truth);
}

int main(int argc, char **argv) {
    if (argc < 2 || !(truth = fopen(argv[1], "w")))
        return 2;
    char longer[301], cut[129];
    memset(longer, 'x', 300);
    longer[300] = 0;
    memset(cut, 'x', 128);
    cut[128] = 0;
    int five = 5;

    expect("add(-3, 10000000000) = %d", add(-3, 10000000000));
    expect("add(2147483647, -1) = %d", add(2147483647, -1));
    expect("narrow(-128, 65535) = %d", narrow(-128, 65535));
    expect("both(true, false) = %s", both(true, false) ? "true" : "false");
    expect("letter('a') = '%c'", letter('a'));
    expect("greet(\"Ada\") = \"%s\"", greet("Ada"));
    expect("greet(\"two\\nlines \\\"quoted\\\"\") = \"two\\nlines \\\"quoted\\\"\"");
    greet("two\nlines \"quoted\"");
    expect("greet(null) = null");
    greet(NULL);
    expect("greet(0x10) = 0x10");
    greet((const char *)16);
    expect("greet(\"\") = \"\"");
    greet("");
    expect("greet(\"%s\"…) = \"%s\"…", cut, cut);
    greet(longer);
    expect("mix(GREEN, NONE) = NONE");
    mix(GREEN, NONE);
    expect("mix(RED, 3) = 3");
    mix(RED, (enum colour)3);
    expect("deref([5]) = %d", deref(&five));
    expect("deref(null) = %d", deref(NULL));
    expect("keep(%p) = %p", (void *)&five, keep(&five));
    expect("many(1, 2, 3, 4, 5, 6, 7, -8) = %ld", many(1, 2, 3, 4, 5, 6, 7, -8));
    scale(2.5, 4);
    expect("scale(2.5, 4) = 10.0");
    half(0.5f, 7, -2.0);
    expect("half(0.5, 7, -2.0) = 0.25");
    mean(1, 2, "m", 3, 4);
    expect("mean(1.0, 2.0, \"m\", 3.0, 4.0) = 2.5");
    // Nobody but the kernel says whether it is there.
    char *heap = strdup("on the heap"), *edge = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4091;
    if (heap == NULL || munmap(edge + 5, 4096) != 0)
        return 3;
    strcpy(edge, "edge");
    greet(heap);
    expect("greet(\"on the heap\") = \"on the heap\"");
    greet(edge);
    expect("greet(\"edge\") = \"edge\"");
    mean(0.5, 0, heap, -0.5, 8);
    expect("mean(0.5, 0.0, \"on the heap\", -0.5, 8.0) = 2.0");
    mean(0.5, 0, edge, -0.5, 8);
    expect("mean(0.5, 0.0, \"edge\", -0.5, 8.0) = 2.0");
    widen(-5, 1ull << 63);
    expect("widen(-5, 9223372036854775808) = -46116860184273879040");
    expect("take_pair({first: 1, second: 2}, 7) = %ld", take_pair((struct pair){1, 2}, 7));
    expect("take_point({x: 1.0, y: 2.0}, 8) = %ld", take_point((struct point){1, 2}, 8));
    expect("take_mixed({x: " UNUSED_X ", n: 2}, 9) = %ld", take_mixed((struct mixed){1, 2}, 9));
    expect("take_big({words: ?}, 10) = %ld", take_big((struct big){{0}}, 10));
    make_big(11);
    expect("make_big(11) = {words: ?}");
    make_point(0.5, -1);
    expect("make_point(0.5, -1.0) = {x: 0.5, y: -1.0}");
    struct person ada = {"Ada", 36, NULL, "abc", GREEN, {3, 4}}, charles = {(const char *)16, 44, &ada, "lo", RED, {5, 6}};
    expect("age(&{name: \"Ada\", age: 36, friend: null, tag: \"abc\", favourite: GREEN, at: {first: 3, second: 4}}) = %d", age(&ada));
    expect("age(&{name: 0x10, age: 44, friend: %p, tag: \"lo\", favourite: RED, at: {first: 5, second: 6}}) = %d", (void *)&ada, age(&charles));
    struct person *on_heap = malloc(sizeof *on_heap);
    *on_heap = (struct person){heap, 7, on_heap, "x", GREEN, {8, 9}};
    expect("age(&{name: \"on the heap\", age: 7, friend: %p, tag: \"x\", favourite: GREEN, at: {first: 8, second: 9}}) = %d", (void *)on_heap, age(on_heap));
    on_heap->name = edge;
    expect("age(&{name: \"edge\", age: 7, friend: %p, tag: \"x\", favourite: GREEN, at: {first: 8, second: 9}}) = %d", (void *)on_heap, age(on_heap));
    expect("age(null) = %d", age(NULL));
    expect("age(0x20) = %d", age((struct person *)32));
    struct list last = {NULL, 2}, list = {&last, 1};
    expect("first(&{next: %p, value: 1}) = %d", (void *)&last, first(&list));
    look_away(17, 3);
    expect("look_away(%s, 3) = 4", sizeof UNUSED_X == 4 ? "17" : "<optimized away>");
    expect("apply(add, 41) = %d", apply(add, 41));
    expect("add(41, 1) = 42");
    expect("long_double(1, 3.5, 2) = %ld", long_double(1, 3.5L, 2));
    expect("twice(-1.25, 2) = %g", (double)twice(-1.25L, 2));
    expect("twice(4.5, 3) = %g", (double)twice(4.5L, 3));
    nothing();
    expect("nothing()");

    int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    expect("open(\"/etc/passwd\", O_RDONLY|O_CLOEXEC) = %d", fd);
    expect("open(\"/nowhere/at/all\", O_WRONLY|O_CREAT|O_TRUNC, 0640) = %d ENOENT",
           open("/nowhere/at/all", O_WRONLY | O_CREAT | O_TRUNC, 0640));
    expect("open(0x10, O_RDWR) = %d EFAULT", open((const char *)16, O_RDWR));
    expect("access(\"/etc/passwd\", R_OK) = %d", access("/etc/passwd", R_OK));
    expect("access(\"/etc/passwd/x\", F_OK) = %d ENOTDIR", access("/etc/passwd/x", F_OK));
    expect("mkdir(\"/proc/x\", 0755) = %d ENOENT", mkdir("/proc/x", 0755));
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect("socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0) = %d", tcp);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    expect("connect(%d, 127.0.0.1:1, 16) = %d ECONNREFUSED", tcp,
           connect(tcp, (struct sockaddr *)&address, sizeof address));
    setenv("ADA_VALUE", "7", 1);
    expect("setenv(\"ADA_VALUE\", \"7\", true) = 0");
    expect("getenv(\"ADA_VALUE\") = \"%s\"", getenv("ADA_VALUE"));
    getenv("ADA_NOTHING");
    expect("getenv(\"ADA_NOTHING\") = null");
    int target[2];
    if (pipe(target) != 0)
        return 3;
    expect("pipe([0x%x%08x]) = 0", target[1], target[0]);
    expect("write(%d, \"hello\", 5) = %zd", target[1], write(target[1], "hello", 5));
    char buffer[16];
    expect("read(%d, \"hello\", 16) = %zd", target[0], read(target[0], buffer, sizeof buffer));
    expect("close(%d) = %d", target[0], close(target[0]));
    expect("close(-1) = %d EBADF", close(-1));
    return fclose(truth) != 0;
}
