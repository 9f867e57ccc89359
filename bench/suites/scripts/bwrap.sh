# needs bwrap
bwrap --ro-bind / / --proc /proc --dev /dev --unshare-pid sh -c 'echo $$; ls /etc/apt'
