/* Calls functions of the C library with known arguments, and writes each call to the file in its first argument as ada shows it. The
   second is an empty folder. Of functions with several names, it is the plainest one. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <libintl.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static FILE *truth;
/* Compilers leave out calls of which nobody wants the result. */
static volatile long sink;

#define SAY(...) fprintf(truth, __VA_ARGS__)
/* What failed, and why. */
static const char *failed(void) { return strerrorname_np(errno); }

int main(int words, char **word)
{
    (void)words;
    truth = fopen(word[1], "w");
    char name[16];
    if (chdir(word[2]))
        return 1;

    int file = open("one", O_CREAT | O_RDWR, 0600);
    linkat(AT_FDCWD, "one", AT_FDCWD, "two", 0);
    SAY("linkat(AT_FDCWD, \"one\", AT_FDCWD, \"two\", 0) = 0\n");
    symlinkat("one", AT_FDCWD, "three");
    SAY("symlinkat(\"one\", AT_FDCWD, \"three\") = 0\n");
    renameat2(AT_FDCWD, "two", AT_FDCWD, "one", 1);
    SAY("renameat2(AT_FDCWD, \"two\", AT_FDCWD, \"one\", 0x1) = -1 %s\n", failed());
    fchmodat(AT_FDCWD, "one", 0640, 0);
    SAY("fchmodat(AT_FDCWD, \"one\", 0640, 0) = 0\n");
    mkfifoat(AT_FDCWD, "four", 0600);
    SAY("mkfifoat(AT_FDCWD, \"four\", 0600) = 0\n");
    truncate64("one", 4096);
    SAY("truncate(\"one\", 4096) = 0\n");
    getxattr("one", "user.none", NULL, 0);
    SAY("getxattr(\"one\", \"user.none\", null, 0) = -1 %s\n", failed());
    posix_fallocate(file, 0, 8192);
    SAY("posix_fallocate(%d, 0, 8192) = 0\n", file);
    lockf(file, F_TEST, 10);
    SAY("lockf(%d, 3, 10) = 0\n", file);
    fnmatch("*.c", "a.c", 0);
    SAY("fnmatch(\"*.c\", \"a.c\", 0x0) = 0\n");

    if_indextoname(1000000, name);
    SAY("if_indextoname(1000000, %p) = null %s\n", (void *)name, failed());
    inet_addr("127.0.0.1");
    SAY("inet_addr(\"127.0.0.1\") = 0x100007f\n");
    inet_addr("no address");
    SAY("inet_addr(\"no address\") = 0xffffffff\n");

    sink = (long)strcasestr("Hello, World", "WORLD");
    SAY("strcasestr(\"Hello, World\", \"WORLD\") = \"World\"\n");
    sink = (long)strpbrk("name=value", ":=");
    SAY("strpbrk(\"name=value\", \":=\") = \"=value\"\n");
    sink = (long)strspn("aabbc", "ab");
    SAY("strspn(\"aabbc\", \"ab\") = 4\n");
    sink = (long)strcspn("aabbc", "c");
    SAY("strcspn(\"aabbc\", \"c\") = 4\n");
    const void *in = memmem("needle in hay", 13, "in", 2);
    SAY("memmem(\"needle in hay\", 13, \"in\", 2) = %p\n", in);
    strtoimax("-12 apples", NULL, 10);
    SAY("strtol(\"-12 apples\", null, 10) = -12\n");
    strtof("1.5", NULL);
    SAY("strtof(\"1.5\", null) = 1.5\n");
    strsignal(SIGTERM);
    SAY("strsignal(SIGTERM) = \"Terminated\"\n");
    sink = (long)toupper('a');
    SAY("toupper(97) = 65\n");
    char *made;
    asprintf(&made, "%s has %d", "ada", 7);
    SAY("asprintf([%p], \"%%s has %%d\", \"ada\", 7) = 9\n", (void *)made);
    dgettext("none", "unknown");
    SAY("dgettext(\"none\", \"unknown\") = \"unknown\"\n");
    ngettext("file", "files", 2);
    SAY("ngettext(\"file\", \"files\", 2) = \"files\"\n");

    setreuid(-1, -1);
    SAY("setreuid(4294967295, 4294967295) = 0\n");
    getpgid(-1);
    SAY("getpgid(-1) = -1 %s\n", failed());
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0));
    SAY("setpriority(0, 0, %d) = 0\n", getpriority(PRIO_PROCESS, 0));
    shm_unlink("/ada-none");
    SAY("shm_unlink(\"/ada-none\") = -1 %s\n", failed());

    double whole;
    hypot(3, 4);
    SAY("hypot(3.0, 4.0) = 5.0\n");
    atan2(0, 1);
    SAY("atan2(0.0, 1.0) = 0.0\n");
    SAY("cbrt(27.0) = %.17g\n", cbrt(27));
    fma(2, 3, 4);
    SAY("fma(2.0, 3.0, 4.0) = 10.0\n");
    modf(3.25, &whole);
    SAY("modf(3.25, [3.0]) = 0.25\n");
    lround(2.5);
    SAY("lround(2.5) = 3\n");
    scalbn(1.5, 3);
    SAY("ldexp(1.5, 3) = 12.0\n");
    exp2(10);
    SAY("exp2(10.0) = 1024.0\n");
    log10(1000);
    SAY("log10(1000.0) = 3.0\n");
    cosf(0);
    SAY("cosf(0.0) = 1.0\n");
    sink = (long)llabs(-9);
    SAY("llabs(-9) = 9\n");
    fclose(truth);
    return 0;
}
