"""A program in a pseudo-terminal: what a person types and sees."""
import errno
import os
import pty
import re
import select
import termios
import time


class Terminal:
    def __init__(self, *command, cwd=None, env=None, term="xterm"):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or ".")
            os.execve(command[0], [str(c) for c in command], {**(env or os.environ), "TERM": term})
        self.seen = ""

    def read(self, seconds):
        """Some more of the output; "" at its end, and after so many seconds in which this process itself could run."""
        for _ in range(seconds):
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    return os.read(self.fd, 4096).decode("utf-8", "replace")
                except OSError as e:
                    if e.errno != errno.EIO:
                        raise
                    return ""
        return ""

    def wait_for(self, pattern, seconds=120):
        """What came up to the end of `pattern`; takes it away."""
        while not (m := re.search(pattern, self.seen, re.S)):
            more = self.read(seconds)
            if not more:
                raise AssertionError(f"{pattern!r} did not come; seen: {self.seen!r}")
            self.seen += more.replace("\r", "")
        before, self.seen = self.seen[:m.end()], self.seen[m.end():]
        return before

    def ready(self):
        """Waits until the program reads key by key: libedit shows its prompt a moment earlier."""
        for _ in range(1000):
            if not termios.tcgetattr(self.fd)[3] & termios.ICANON:
                return
            time.sleep(0.01)
        raise AssertionError("the program does not read keys")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=120):
        """The exit status, and all that was not taken yet."""
        while more := self.read(seconds):
            self.seen += more.replace("\r", "")
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status, self.seen
