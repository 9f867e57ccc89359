# needs maxima
maxima --very-quiet --batch-string='integrate(sin(x)^3,x); factor(x^20-1);'
