# needs convert
convert -size 200x200 plasma:fractal -seed 5 -blur 0x3 -depth 8 gray:- | wc -c; convert rose: -resize 300% -rotate 30 rgb:- | md5sum
