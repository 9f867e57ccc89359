# needs haproxy
haproxy -v | head -1; haproxy -vv | wc -l
