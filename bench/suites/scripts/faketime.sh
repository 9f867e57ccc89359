# needs faketime
faketime '2001-02-03 04:05:06' date +%Y-%m-%d
