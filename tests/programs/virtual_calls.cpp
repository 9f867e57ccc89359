// Virtual calls, lambdas, function objects and templates.
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

static volatile int sink;

struct Shape {
    virtual ~Shape() { sink += 1; }
    virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    __attribute__((noipa)) explicit Square(int side) : side(side) { sink += 1; }
    __attribute__((noipa)) int area() const override { return side * side + 0 * sink; }
};
struct Line : Shape {
    __attribute__((noipa)) int area() const override { return 0 * sink; }
};

template <typename T> __attribute__((noipa)) T twice(T value) { sink += 1; return value + value; }
__attribute__((noipa)) int apply(const std::function<int(int)> &f, int n) { return f(n) + sink * 0; }

int main() {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 10; i++) {
        if (i % 2) shapes.emplace_back(new Square(i));
        else shapes.emplace_back(new Line);
    }
    int sum = 0;
    for (auto &shape : shapes) sum += shape->area();
    int captured = 5;
    for (int i = 0; i < 7; i++)
        sum += apply([&captured](int n) __attribute__((noipa)) { sink += 1; return n + captured; }, i);
    sum += twice(3) + twice(4) + (int)twice(2.5);
    std::printf("%d\n", sum);
    return 0;
}
