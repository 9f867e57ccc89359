// The cold part of `work` begins with a landing pad: a nop, because an offset of 0 means no pad, and then the pad, which
// only the unwinder reaches. A patch over the part's first bytes would break the pad.
#include <cstdio>
#include <stdexcept>
#include <string>

struct Part {
    int number;
    char room[80];
};

[[gnu::noinline]] void fill(Part *part, int number) {
    if (number > 2) {
        throw std::runtime_error("too many");
    }
    part->number = number;
}

[[gnu::noinline]] int work(int number) {
    std::string name(number, 'x');
    Part *part = new Part;
    try {
        fill(part, number);
    } catch (...) {
        delete part;
        throw;
    }
    int result = part->number + static_cast<int>(name.size());
    delete part;
    return result;
}

int main() {
    for (int number = 0; number < 6; ++number) {
        try {
            std::printf("%d\n", work(number));
        } catch (const std::exception &error) {
            std::puts(error.what());
        }
    }
}
