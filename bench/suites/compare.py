"""Runs commands alone and traced, and says whether it makes a difference.

A suite is a program that makes one `Suite` and gives it its cases one by one. Each case is a command and a way to read its
results; a result is a name and an outcome. A case whose results differ is run again, both ways: where two runs alone
differ as well, the difference is not ada's.
"""

import argparse
import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

PASSED = "passed"
PR_SET_CHILD_SUBREAPER = 36
TIMED_OUT = 124
# Machines are busy, and a traced program is slower: so much longer may it take.
PATIENCE = 10


@dataclass
class Run:
    """What came of one run: the exit code is a result too."""

    code: int
    seconds: float
    output: str
    results: dict = field(default_factory=dict)

    def passed(self):
        return sum(outcome == PASSED for outcome in self.results.values())

    def differs_from(self, other):
        """The names whose outcomes are not the same."""
        names = sorted(self.results.keys() | other.results.keys())
        different = [name for name in names if self.results.get(name) != other.results.get(name)]
        return different + ([f"exit code {other.code}, not {self.code}"] if self.code != other.code else [])


class Suite:
    """Cases, the rows of their table, and the folder that they are run in."""

    def __init__(self, name, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("ada", type=lambda path: Path(path).resolve(), help="the executable")
        parser.add_argument("--quick", action="store_true", help="a part of it")
        parser.add_argument("--only", action="append", help="these cases; may be given several times")
        parser.add_argument("--keep", type=Path, help="a folder for what different runs have printed")
        self.arguments = parser.parse_args()
        self.name = name
        self.cache = Path(os.environ.get("ADA_CACHE", Path.home() / ".cache/ada")) / "suites"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.rows = 0
        self.different = 0
        # Whatever a case leaves behind becomes ours, and is ended with it.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        print(f"{name}: {description}", flush=True)
        print(f"{'case':<44} {'alone':>12} {'traced':>12} {'seconds':>15}  difference", flush=True)

    @property
    def quick(self):
        return self.arguments.quick

    def case(self, name, command, read, *, copy_of=None, inside=None, timeout=120, environment=None, runs=1, user=None):
        """Runs a case, `runs` times traced, and prints its row. `read` makes results of the output and the folder.

        Each run has a folder of its own, `{work}` in the command: empty, or a copy of one. It is run there, unless
        it has to be `inside` another that it does not change; and by `user`, ada included, where we may choose.
        """
        if not self.wants(name):
            return
        run = lambda traced, limit: self._run(command, read, copy_of, inside, limit, environment, user, traced)
        alone = run(False, timeout)
        if alone.code == TIMED_OUT:
            self.absent(name, f"it does not end alone within {timeout} s")
            return
        limit = max(timeout, PATIENCE * alone.seconds)
        traced = [run(True, limit) for _ in range(runs)]
        worst = max(traced, key=lambda one: len(alone.differs_from(one)))
        different = alone.differs_from(worst)
        note = ""
        if different:
            again, again_traced = run(False, timeout), run(True, limit)
            stable = [name for name in different if name in alone.differs_from(again_traced)]
            shaky = alone.differs_from(again)
            certain = [name for name in stable if name not in shaky]
            words = "; ".join((certain or different)[:6])
            if certain:
                note = words
            elif set(different) <= set(shaky):
                note, different = f"(alone too, now and then: {words})", []
            else:
                note = f"once of twice: {words}"
            self._keep(name, {"alone": alone, "traced": worst, "alone-again": again, "traced-again": again_traced})
        self.rows += 1
        self.different += bool(different)
        same = sum(not alone.differs_from(one) for one in traced)
        count = f"{worst.passed()}/{len(worst.results)}" if runs == 1 else f"{same}/{runs} same"
        seconds = f"{alone.seconds:.1f}/{max(one.seconds for one in traced):.1f}"
        print(f"{name:<44} {f'{alone.passed()}/{len(alone.results)}':>12} {count:>12} {seconds:>15}  {note}", flush=True)

    def wants(self, name):
        return not self.arguments.only or name in self.arguments.only

    def absent(self, name, reason):
        """A row for what could not be run."""
        print(f"{name:<44} NOT RUN: {reason}", flush=True)

    def end(self):
        """The last line, and the exit code: 1 where something differs."""
        print(f"{self.rows} cases, {self.different} differ\n", flush=True)
        raise SystemExit(1 if self.different else 0)

    def made(self, name, make):
        """A folder in the cache that `make` fills, once."""
        folder = self.cache / name
        complete = folder / "complete"
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            complete.touch()
        return folder

    def plans(self, user):
        """Where a user's ada keeps its plans. Others cannot get into our cache folder."""
        if not user:
            return self.cache / "plans"
        folder = Path(tempfile.gettempdir()) / f"ada-suite-plans-{user}"
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, user)
        return folder

    def _run(self, command, read, copy_of, inside, timeout, environment, user, traced):
        with tempfile.TemporaryDirectory(prefix="ada-suite-", ignore_cleanup_errors=True) as scratch:
            scratch = Path(scratch)
            work = scratch / "work"
            if user and os.geteuid() == 0:
                scratch.chmod(0o777)
            else:
                user = None
            if copy_of:
                shutil.copytree(copy_of, work, symlinks=True)
            else:
                work.mkdir()
            if user:
                shutil.chown(work, user)
            command = [word.replace("{work}", str(work)) for word in command]
            environment = {name: value.replace("{work}", str(work)) for name, value in (environment or {}).items()}
            if traced:
                options = ["--quiet", "--ring", "100M", "--output", str(scratch / "sessions")]
                command = [str(self.arguments.ada), "trace", *options, "--", *command]
            variables = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(work), **environment}
            variables.setdefault("ADA_CACHE_DIR", str(self.plans(user)))
            began = time.monotonic()
            with open(scratch / "output", "w+b") as output:
                process = subprocess.Popen(
                    command, cwd=inside or work, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True, user=user, extra_groups=[] if user else None,
                )
                try:
                    code = process.wait(timeout)
                except subprocess.TimeoutExpired:
                    code = TIMED_OUT
                seconds = time.monotonic() - began
                end_all(process)
                output.seek(0)
                text = output.read().decode(errors="replace")
            # ada speaks of a death by a signal as shells do.
            code = 128 - code if code < 0 else code
            text = text.replace(str(scratch), "")
            return Run(code, seconds, text, read(text, work))

    def _keep(self, name, runs):
        if not self.arguments.keep:
            return
        folder = self.arguments.keep / f"{self.name}-{name}".replace("/", "-").replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        for kind, run in runs.items():
            results = "".join(f"{outcome} {name}\n" for name, outcome in sorted(run.results.items()))
            (folder / kind).write_text(f"exit code {run.code}\n{results}\n{run.output}")


def end_all(process):
    """Ends what is left of a case. Those whose parents have gone are our children by now."""
    if process.poll() is None:
        process.kill()
        process.wait()
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
                os.waitpid(int(child), 0)
            except (ChildProcessError, ProcessLookupError):
                pass


def tap(text, _work):
    """Results of the Test Anything Protocol."""
    results = {}
    for line in text.splitlines():
        words = line.split(None, 3) if line.startswith("not ok") else ["", *line.split(None, 2)]
        if len(words) < 3 or words[1] != "ok" or not words[2].isdigit():
            continue
        # Some tests are named for an address.
        name = re.sub(r"\b(0x)?[0-9a-f]{12}\b", "ADDRESS", " ".join(words[2:]))
        results[name] = "failed" if words[0] else PASSED
    return results


def lines(text, _work):
    """Everything that is printed is the result."""
    return {f"{number}: {line}": PASSED for number, line in enumerate(text.splitlines(), 1)}
