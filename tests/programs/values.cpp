// As values.c, with what C++ adds: classes by value, strings and views, methods, references.
#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>

#define KEPT __attribute__((noinline, visibility("default")))
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

struct Plain { long a; int b; };
struct Counted {
    int n;
    Counted(int n) : n(n) {}
    Counted(const Counted &other) : n(other.n + 1) {}
};
struct Holder { Counted inner; };
struct Made { long words[4]; };
enum class Mode : unsigned char { Fast = 1, Careful = 200 };

KEPT int by_view(std::string_view text, int n) { OPAQUE(n); return (int)text.size() + n; }
KEPT int by_reference(const std::string &text, int n) { OPAQUE(n); return (int)text.size() + n; }
KEPT int by_value(std::string text, int n) { OPAQUE(n); return (int)text.size() + n; }
KEPT int plain(Plain p, int n) { OPAQUE(n); return (int)p.a + p.b + n; }
KEPT int counted(Counted c, int n) { OPAQUE(n); return c.n + n; }
KEPT int holder(Holder h, int n) { OPAQUE(n); return h.inner.n + n; }
KEPT std::string repeat(int n, char c) { OPAQUE(n); return std::string(n, c); }
KEPT Made make(int n) { OPAQUE(n); return Made{{n, 0, 0, 0}}; }
KEPT Mode flip(Mode mode, bool twice) { OPAQUE(twice); return mode == Mode::Fast ? Mode::Careful : Mode::Fast; }
KEPT int bump(int &value) { OPAQUE(*&value); return ++value; }
struct Sum {
    int total = 0;
    KEPT int add(int x, short y) { OPAQUE(x); return total += x + y; }
};

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
    expect("by_view(\"a view\", 3) = %d", by_view("a view", 3));
    std::string shorter = "short", longer(100, 'q');
    expect("by_reference(\"short\", -1) = %d", by_reference(shorter, -1));
    expect("by_reference(\"%s\", 2) = %d", longer.c_str(), by_reference(longer, 2));
    int result = by_value(shorter, 7);
    expect("by_value(\"short\", 7) = %d", result);
    expect("plain({a: 1, b: 2}, 4) = %d", plain(Plain{1, 2}, 4));
    result = counted(Counted(5), 6);
    expect("counted({n: 5}, 6) = %d", result);
    result = holder(Holder{Counted(1)}, 8);
    expect("holder({inner: {n: 1}}, 8) = %d", result);
    repeat(3, 'z');
    expect("repeat(3, 'z') = \"zzz\"");
    make(9);
    expect("make(9) = {words: ?}");
    flip(Mode::Fast, true);
    expect("flip(Fast, true) = Careful");
    int five = 5;
    bump(five);
    expect("bump([5]) = 6");
    Sum sum;
    expect("Sum::add(&{total: 0}, 40, -2) = %d", sum.add(40, -2));
    return fclose(truth) != 0;
}
