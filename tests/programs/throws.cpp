// Has libstdc++ throw, and catches it.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

template <typename Call> static void caught(Call call) {
    try {
        call();
    } catch (const std::exception &exception) {
        std::cout << exception.what() << "\n";
    }
}

int main(int words, char **) {
    std::vector<int> three(3);
    const char *volatile null = nullptr;
    caught([&] { std::cout << three.at(6 + words); });
    caught([&] { std::cout << std::stoi("no number"); });
    caught([&] { std::cout << std::string(null); });
}
