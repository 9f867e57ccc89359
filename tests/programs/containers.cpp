// As values.cpp, with strings, vectors, optional values and owning pointers of the library: by value, by reference, as fields and
// as results.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define KEPT __attribute__((noinline, visibility("default")))
#define SEEN(value) __asm__ volatile("" : : "r"(&(value)) : "memory")

struct Point { int x, y; };
struct Record {
    std::string name;
    std::vector<short> sizes;
    std::optional<int> limit;
};

KEPT int by_value(std::string text, int n) { SEEN(text); return (int)text.size() + n; }
KEPT int by_reference(const std::string &text, int n) { SEEN(text); return (int)text.size() + n; }
KEPT int by_pointer(std::string *text) { SEEN(text); return (int)text->size(); }
KEPT std::string repeated(int n, char c) { SEEN(n); return std::string(n, c); }
KEPT std::string_view first_word(std::string_view text) { SEEN(text); return text.substr(0, text.find(' ')); }
KEPT int sum(std::vector<int> it, int n) { SEEN(it); for (int i : it) n += i; return n; }
KEPT double floats(const std::vector<double> &it) { SEEN(it); return it[0]; }
KEPT long points(const std::vector<Point> &it) { SEEN(it); return it.size(); }
KEPT long texts(const std::vector<std::string> &it) { SEEN(it); return it.size(); }
KEPT std::vector<short> squares(int n) {
    std::vector<short> all;
    for (int i = 1; i <= n; i++) all.push_back(i * i);
    return all;
}
KEPT std::optional<int> next(std::optional<int> it) { SEEN(it); return it ? std::optional<int>(*it + 1) : it; }
KEPT std::optional<double> half(std::optional<double> it, int n) { SEEN(it); SEEN(n); return it ? std::optional<double>(*it / 2) : it; }
KEPT std::optional<std::string> longer(std::optional<std::string> it) { SEEN(it); if (it) *it += "er"; return it; }
KEPT int owned(std::unique_ptr<int> it, int n) { SEEN(it); return it ? *it + n : n; }
KEPT int owned_point(std::unique_ptr<Point> it) { SEEN(it); return it->x; }
KEPT int shared(std::shared_ptr<Point> it, int n) { SEEN(it); return it->y + n; }
KEPT std::unique_ptr<int> made(int n) { SEEN(n); return std::make_unique<int>(n); }
KEPT int recorded(const Record &it, int n) { SEEN(it); return (int)it.sizes.size() + n; }
KEPT Record record(int n) { SEEN(n); return Record{std::string(n, 'r'), {7, 8}, std::nullopt}; }
KEPT long damaged(const std::vector<int> &it) { SEEN(it); return 1; }
KEPT long damaged_text(const std::string &it) { SEEN(it); return 2; }
KEPT long damaged_value(const std::optional<int> &it) { SEEN(it); return 3; }
struct Log {
    std::string name;
    std::vector<int> lines;
    long add(const std::string &text, int line);
};
KEPT long Log::add(const std::string &text, int line) { SEEN(text); lines.push_back(line); return lines.size(); }

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
    std::string shorter = "short", longest(300, 'q'), zero("a\0b", 3);
    int result = by_value(shorter, 7);
    expect("by_value(\"short\", 7) = %d", result);
    result = by_value(longest, 1);
    expect("by_value(\"%.128s\"…, 1) = %d", longest.c_str(), result);
    by_reference(shorter, -1);
    expect("by_reference(\"short\", -1) = 4");
    by_reference(zero, 0);
    expect("by_reference(\"a\\x00b\", 0) = 3");
    by_reference("", 0);
    expect("by_reference(\"\", 0) = 0");
    by_pointer(&shorter);
    expect("by_pointer(\"short\") = 5");
    repeated(3, 'z');
    expect("repeated(3, 'z') = \"zzz\"");
    repeated(40, 'y');
    expect("repeated(40, 'y') = \"%s\"", std::string(40, 'y').c_str());
    first_word("two words");
    expect("first_word(\"two words\") = \"two\"");

    sum({1, -2, 3}, 4);
    expect("sum([1, -2, 3], 4) = 6");
    sum({}, 5);
    expect("sum([], 5) = 5");
    std::vector<int> many;
    std::string shown;
    for (int i = 0; i < 100; i++) {
        many.push_back(i);
        shown += i < 32 ? std::to_string(i) + ", " : "";
    }
    sum(many, 0);
    expect("sum([%s…; 100], 0) = 4950", shown.c_str());
    floats({0.5, 1.5});
    expect("floats(&[0.5, 1.5]) = 0.5");
    points({{1, -1}, {2, 3}});
    expect("points(&[{x: 1, y: -1}, {x: 2, y: 3}]) = 2");
    texts({"a", ""});
    expect("texts(&[?, \"\"]) = 2");
    squares(3);
    expect("squares(3) = [1, 4, 9]");
    squares(0);
    expect("squares(0) = []");

    next(3);
    expect("next(3) = 4");
    next(std::nullopt);
    expect("next(nullopt) = nullopt");
    half(0.5, 1);
    expect("half(0.5, 1) = 0.25");
    half(std::nullopt, 2);
    expect("half(nullopt, 2) = nullopt");
    longer("long");
    expect("longer(\"long\") = \"longer\"");
    longer(std::nullopt);
    expect("longer(nullopt) = nullopt");
    owned(std::make_unique<int>(5), 1);
    expect("owned([5], 1) = 6");
    owned(nullptr, 1);
    expect("owned(null, 1) = 1");
    owned_point(std::make_unique<Point>(Point{1, 2}));
    expect("owned_point(&{x: 1, y: 2}) = 1");
    shared(std::make_shared<Point>(Point{3, 4}), 5);
    expect("shared(&{x: 3, y: 4}, 5) = 9");
    made(8);
    expect("made(8) = [8]");

    Record record_of_two{"two", {1, 2}, 9};
    recorded(record_of_two, 40);
    expect("recorded(&{name: \"two\", sizes: [1, 2], limit: 9}, 40) = 42");
    record(3);
    expect("record(3) = {name: \"rrr\", sizes: [7, 8], limit: nullopt}");
    Log log{"log", {}};
    log.add("first", 17);
    expect("Log::add(&{name: \"log\", lines: []}, \"first\", 17) = 1");
    log.add("second", 18);
    expect("Log::add(&{name: \"log\", lines: [17]}, \"second\", 18) = 2");

    // A vector that ends before it begins, one that ends in an element, a length that nothing has, and a flag that is neither.
    std::vector<int> vector{1, 2, 3};
    std::uintptr_t sound[3], words[3];
    std::memcpy(sound, (void *)&vector, sizeof sound);
    std::memcpy(words, sound, sizeof words);
    words[1] = words[0] - 4;
    std::memcpy((void *)&vector, words, sizeof words);
    damaged(vector);
    expect("damaged([?]) = 1");
    words[1] = words[0] + 6;
    std::memcpy((void *)&vector, words, sizeof words);
    damaged(vector);
    expect("damaged([?]) = 1");
    words[0] = 16;
    words[1] = 16 + ((std::uintptr_t)1 << 60);
    std::memcpy((void *)&vector, words, sizeof words);
    damaged(vector);
    expect("damaged(&[…; 288230376151711744]) = 1");
    std::memcpy((void *)&vector, sound, sizeof sound);
    std::string text = "text";
    std::uintptr_t header[2] = {16, (std::uintptr_t)1 << 60}, right[2];
    std::memcpy(right, (void *)&text, sizeof right);
    std::memcpy((void *)&text, header, sizeof header);
    damaged_text(text);
    expect("damaged_text([0x10]) = 2");
    std::memcpy((void *)&text, right, sizeof right);
    std::optional<int> value = 5;
    reinterpret_cast<unsigned char *>(&value)[4] = 7;
    damaged_value(value);
    expect("damaged_value([?]) = 3");
    return fclose(truth) != 0;
}
