// An exception that is caught and thrown on, one that is thrown while another is handled, and one that is kept.
#include <cstdio>
#include <exception>
#include <stdexcept>

static volatile int sink;
__attribute__((noipa)) int thrower(int n) { sink += n; throw n; }
__attribute__((noipa)) int rethrower(int n) {
    try {
        return thrower(n) + 1;
    } catch (int) {
        sink += 1;
        throw;
    }
}
__attribute__((noipa)) int replacer(int n) {
    try {
        return rethrower(n) + 1;
    } catch (int) {
        throw std::runtime_error("replaced");
    }
}
__attribute__((noipa)) int keeper(int n) {
    std::exception_ptr kept;
    try {
        return replacer(n) + 1;
    } catch (...) {
        kept = std::current_exception();
    }
    std::rethrow_exception(kept);
}
struct Cleaner {
    __attribute__((noipa)) ~Cleaner() {
        try { thrower(9); } catch (int) { sink += 3; }
    }
};
__attribute__((noipa)) int cleaning(int n) {
    Cleaner cleaner;
    return keeper(n) + 1;
}

int main() {
    for (int i = 0; i < 3; i++) {
        try {
            sink += cleaning(i);
        } catch (const std::runtime_error &error) {
            std::printf("%s %d\n", error.what(), sink);
        }
    }
    return 3;
}
