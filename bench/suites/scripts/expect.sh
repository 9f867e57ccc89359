# needs expect
expect -c 'spawn sh -c "read x; echo got \$x"; send "hi\n"; expect "got hi"; puts "\nok"; wait'
