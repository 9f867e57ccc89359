# needs gpg
export GNUPGHOME=$PWD/g; mkdir -m700 g; echo hello | gpg --batch --passphrase x --pinentry-mode loopback -c -o f.gpg 2>/dev/null; gpg --batch --passphrase x --pinentry-mode loopback -d f.gpg 2>/dev/null; gpgconf --kill all
