# needs vim
printf 'a\nb\nc\n' > f; vim -N -u NONE -es -c '%s/b/xyz/' -c 'wq' f; cat f
