# needs gnuplot
gnuplot -e 'set terminal dumb 60 15; plot sin(x)'
