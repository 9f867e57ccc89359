# needs eatmydata
eatmydata dd if=/dev/zero of=f bs=1k count=10 conv=fsync 2>&1 | head -2
