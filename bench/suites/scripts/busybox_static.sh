# needs busybox
busybox sh -c 'for i in 1 2 3; do echo $i | busybox sed s/1/x/; done; busybox find /etc/apt | busybox sort | busybox md5sum'
