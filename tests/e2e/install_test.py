#!/usr/bin/env python3
"""What cmake --install puts into a prefix: the manual page, and completions that real shells find there and use.

  install_test.py BUILD [unittest arguments]

Exit status 77 if nothing could be tried, because the shells are missing.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from terminal import Terminal

BUILD = pathlib.Path(sys.argv[1]).resolve()
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"


def setUpModule():
    global prefix, share, env
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    prefix = pathlib.Path(folder.name) / "pre fix"
    share = prefix / "share"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    home = pathlib.Path(folder.name) / "home"
    home.mkdir()
    store = pathlib.Path(folder.name) / "store"
    (store / "owner/tiny").mkdir(parents=True)
    (store / "owner/tiny/model.gguf").write_bytes(b"x")
    env = {"PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8",
           "MLXCEL_MODELS_DIR": str(store), "XDG_DATA_DIRS": f"{share}:/usr/local/share:/usr/share"}


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**env, **more}, timeout=120)


def need(program):
    if shutil.which(program) is None:
        raise unittest.SkipTest(f"{program} is missing")


class Layout(unittest.TestCase):
    def test_program(self):
        self.assertIn("mlxcel ", run("mlxcel", "--version").stdout)

    def test_manual(self):
        page = (share / "man/man1/mlxcel.1").read_text()
        self.assertEqual(page, run("mlxcel", "man").stdout)
        need("man")
        # man looks beside the folders of PATH.
        r = run("man", "-w", "mlxcel")
        if "minimized" in r.stdout + r.stderr:
            self.skipTest("man is a stub here")
        self.assertEqual(r.stdout.strip(), str(share / "man/man1/mlxcel.1"), r.stderr)

    def test_completions(self):
        for shell, path in (("bash", "bash-completion/completions/mlxcel"), ("zsh", "zsh/site-functions/_mlxcel"),
                            ("fish", "fish/vendor_completions.d/mlxcel.fish")):
            self.assertEqual((share / path).read_text(), run("mlxcel", "completion", shell).stdout, shell)


class Shell:
    """In each shell, as a person sees it: what a tab makes of a line."""

    def test_commands(self):
        self.assertEqual(self.complete("mlxcel gener"), {"generate"})
        self.assertEqual(self.complete("mlxcel bench deco"), {"decode"})
        self.assertEqual(self.complete("mlxcel completion z"), {"zsh"})

    def test_options(self):
        self.assertEqual(self.complete("mlxcel run --show-r"), {"--show-reasoning"})
        self.assertEqual(self.complete("mlxcel ls --so"), {"--sort"})
        self.assertEqual(self.complete("mlxcel bench decode --prompt-tok"), {"--prompt-tokens"})
        self.assertEqual(self.complete("mlxcel generate -p x --ignore-e"), {"--ignore-eos"})

    def test_values(self):
        self.assertEqual(self.complete("mlxcel list --sort mod"), {"modified"})
        self.assertEqual(self.complete("mlxcel convert a b --mode nv"), {"nvfp4"})

    def test_models(self):
        for line in ("mlxcel run own", "mlxcel rm own", "mlxcel generate -m own", "mlxcel inspect --model own"):
            self.assertEqual(self.complete(line), {"owner/tiny"}, line)


class Bash(Shell, unittest.TestCase):
    def setUp(self):
        need("bash")
        if not os.path.exists(BASH_COMPLETION):
            self.skipTest("the package bash-completion is missing")

    def complete(self, line):
        """The words that bash-completion, which finds the file by the program's name, offers."""
        script = (f'source {BASH_COMPLETION}; _completion_loader mlxcel; function=$(complete -p mlxcel | '
                  'sed "s/.*-F \\([^ ]*\\) .*/\\1/"); COMP_LINE=$1; COMP_POINT=${#1}; COMP_WORDS=($1); '
                  'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); $function mlxcel "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        r = run("bash", "--norc", "-c", script, "bash", line)
        self.assertEqual(r.stderr, "")
        return set(r.stdout.split())

    def test_several(self):
        self.assertEqual(self.complete("mlxcel r"), {"run", "rm"})

    def test_tab(self):
        """The same in a terminal."""
        t = Terminal(shutil.which("bash"), "--norc", "-i", env={**env, "PS1": "ready> "})
        t.type(f"source {BASH_COMPLETION}; echo loa''ded\n")
        t.wait_for("loaded\n")
        t.wait_for("ready> ")
        t.type("mlxcel completion fi\t > /dev/null; echo $?-done\n")
        self.assertIn("completion fish ", t.wait_for("0-done"))
        t.type("exit\n")
        t.end()


class Fish(Shell, unittest.TestCase):
    def setUp(self):
        need("fish")

    def complete(self, line):
        r = run("fish", "-c", f"complete -C '{line}'")
        self.assertEqual(r.stderr, "")
        return {w.split("\t")[0] for w in r.stdout.splitlines()}


class Zsh(Shell, unittest.TestCase):
    """zsh completes on a terminal alone."""

    @classmethod
    def setUpClass(cls):
        need("zsh")

    def test_fpath(self):
        """For the prefix /usr/local it is a folder of zsh's own list."""
        r = run("zsh", "-f", "-c", "print -l $fpath")
        self.assertIn("/usr/local/share/zsh/site-functions", r.stdout.split())

    def complete(self, line):
        """The last word of the line after a tab: zsh fills it in where there is one choice."""
        t = Terminal(shutil.which("zsh"), "-f", "-i", env={**env, "PS1": "ready> "})
        t.type(f"fpath=({str(share / 'zsh/site-functions')!r} $fpath); autoload -Uz compinit; compinit -u -D; "
               "show() { zle -I; print -r -- \"line=[$BUFFER]\" }; zle -N show; bindkey '^X' show; echo loa''ded\n")
        t.wait_for("loaded\n")
        t.wait_for("ready> ")
        t.type(line + "\t\x18")
        filled = re.search(r"line=\[(.*)\]$", t.wait_for(r"line=\[[^]]*\]"), re.S).group(1)
        t.type("\x15exit\n")  # instead of the line
        t.end()
        return {filled.split()[-1]}


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun > 0 and len(result.skipped) == result.testsRun else 0)
