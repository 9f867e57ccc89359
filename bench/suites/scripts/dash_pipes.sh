# needs dash
seq 1 2000 | sort -R --random-source=/etc/passwd | sort -n | awk '{s+=$1} END{print s}' ; trap 'echo term' TERM; kill -TERM $$; (ulimit -t 1; while :; do :; done); echo $?
