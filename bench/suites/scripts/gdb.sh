# needs gdb
printf '#include <stdio.h>\nint g(int x){return x*2;}\nint main(){printf("%%d\\n",g(4));return 0;}' > a.c; gcc -g -O0 a.c -o a; gdb -q -batch -ex 'break g' -ex run -ex bt -ex 'finish' -ex c ./a 2>&1 | grep -v -e Thread -e '^$' -e process | sed 's/0x[0-9a-f]*//g'
