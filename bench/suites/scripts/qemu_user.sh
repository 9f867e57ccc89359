# needs qemu-x86_64
qemu-x86_64 /bin/ls /usr/share/doc | head -5
