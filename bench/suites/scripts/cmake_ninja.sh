# needs ninja
printf 'cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(a a.c)\n' > CMakeLists.txt; echo 'int main(){return 0;}' > a.c; cmake -G Ninja -B b . > log 2>&1; ninja -C b 2>&1 | tail -1; ./b/a; echo $?
