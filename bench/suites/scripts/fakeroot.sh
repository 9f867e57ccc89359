# needs fakeroot
fakeroot sh -c 'touch a; chown 5:6 a; stat -c %u:%g a'
