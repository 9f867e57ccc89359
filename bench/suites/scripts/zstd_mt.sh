# needs zstd
seq 1 2000000 >x
zstd -q -T2 -5 x && zstd -q -dc x.zst | cmp - x && echo same
