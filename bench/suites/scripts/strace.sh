# needs strace
strace -f -c -o /dev/null sh -c 'ls /etc/apt | wc -l'
