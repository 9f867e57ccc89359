# needs openssl
openssl genrsa 2048 2>/dev/null | wc -l; echo hi | openssl dgst -sha256; openssl speed -seconds 1 -evp md5 2>/dev/null | wc -l
