# needs rsync
mkdir a; cp -r /etc/apt /etc/default a 2>/dev/null; rsync -a --stats a/ b/ | grep 'files transferred'; diff -r a b && echo same
