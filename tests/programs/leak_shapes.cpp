// Every second page throws its list of shapes away without the shapes. `delete` jumps to `free`: one thing is given back.
#include <cstdio>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() {}
    virtual double area() const = 0;
};

struct Square : Shape {
    double side;
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
};

struct Circle : Shape {
    double radius;
    std::string name = "a circle with a name that is long enough for the heap";
    explicit Circle(double radius) : radius(radius) {}
    double area() const override { return 3 * radius * radius; }
};

__attribute__((noipa)) Shape *read_shape(int number)
{
    if (number % 3)
        return new Square(number);
    return new Circle(number);
}

__attribute__((noipa)) double draw_page(int page)
{
    std::vector<Shape *> shapes;
    for (int number = 0; number < 10; number++)
        shapes.push_back(read_shape(page + number));
    double sum = 0;
    for (Shape *shape : shapes)
        sum += shape->area();
    if (page % 2)
        for (Shape *shape : shapes)
            delete shape;
    return sum;
}

int main()
{
    double sum = 0;
    for (int page = 0; page < 100; page++)
        sum += draw_page(page);
    std::printf("%f\n", sum);
}
