# needs make
for i in 1 2 3 4 5 6; do echo "int f$i(int x){return x*$i;}" > f$i.c; done; printf 'all: f1.o f2.o f3.o f4.o f5.o f6.o\n\tar rc l.a $^\n\techo ok\n' > Makefile; make -s -j4
