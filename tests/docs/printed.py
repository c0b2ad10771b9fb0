#!/usr/bin/python3
"""Runs what a page prints, as it is printed, in a directory and, where it may, a network of its own:
ports are the printed ones.

printed.py <weir> <page.md> [options]

Of the page, or of the section of that title (--section), it writes each block that has a name (the line before it has
a `name.of` and ends with a colon) and runs each other `sh` block, one after the other. A block's output must be the
lines that begin with `# `: one that goes on with two blanks continues the one before, and … stands for anything. All
of a block must succeed. `weir relay`, `weir gate` or `make run` at the end of a block stands for what one
leaves running in another terminal. Servers go on until a block begins others.

--gate ARGUMENT: `weir gate` runs with these arguments before all. --beside [NAME=]PATH: what is there too.
--first COMMAND: makes what a reader has who comes to the page. --instead COMMAND: this, with the gate's address, in the
place of the sh blocks. --elsewhere TITLE: a section that another test runs. --nobody: where root runs this, as nobody.
--in-memory: not on the disk, whose syncs may take long, where there is a GiB for it.
--not-run FILE: lines that are left out, each with page, line and reason between tabs; what this lists and no page has
is an error, as is a block of another form, where no test would find a command. --needs COMMAND PACKAGE, and status 77,
skipped: the command fails that shows that its package is here.

The Makefile works, on what is built: cmake, install-deps and configure are commands that do nothing. build/tools (.ci/test-tools)
is on the path.
"""
import argparse
import contextlib
import ctypes
import fcntl
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HOUSE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SERVER = re.compile(r"^(?:\w+=\S* )*(?:\S*/)?(?:weir (?:relay|gate)|make run)\b(?!.*--help)[^|#\n]*", re.M)
PATIENCE_S = 100


def enter_namespaces():
    """From here on children of this process are in a network of nothing but its loopback, and end with the first."""
    new_user, new_processes, new_network = 0x10000000, 0x20000000, 0x40000000
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None)
    if libc.unshare(new_processes | new_network | (0 if user == 0 else new_user)) != 0:
        raise OSError("unshare")
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
        set_flags, up = 0x8914, 0x1
        fcntl.ioctl(some, set_flags, struct.pack("16sh14x", b"lo", up))


def in_namespaces():
    """Whether they are. A kernel may allow the first step and not the next, so somebody else tries them all first."""
    trial = os.fork()
    if trial == 0:
        with contextlib.suppress(OSError):
            enter_namespaces()
            os._exit(0)
        os._exit(1)
    if os.waitpid(trial, 0)[1] != 0:
        return False
    enter_namespaces()
    return True


@contextlib.contextmanager
def on_this_machine():
    """Where there may be no namespaces: one page after the other, and what it leaves running is found and ended."""
    become_parent_of_orphans = 36
    ctypes.CDLL(None).prctl(become_parent_of_orphans, 1)
    with open(f"{tempfile.gettempdir()}/weir-pages-{os.getuid()}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            while children := text_of(f"/proc/self/task/{os.getpid()}/children").split():
                for child in children:
                    os.kill(int(child), signal.SIGKILL)
                    os.waitpid(int(child), 0)


def taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def hidden(page):
    """The page with its blocks blank, where a comment is no heading."""
    return re.sub(BLOCK, lambda block: re.sub("[^\n]", " ", block[0]), page)


def span_of(page, title):
    """Of the text below that heading, up to the next of its rank or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", hidden(page), re.M)
    if not found:
        sys.exit(f"no section has the title {title}")
    end = re.search(rf"^#{{1,{len(found[1])}}} ", hidden(page)[found.end():], re.M)
    return found.end(), found.end() + end.start() if end else len(page)


def blocks_of(text):
    """(language, name or None, text) of each."""
    for block in BLOCK.finditer(text):
        named = re.search(r"`([\w-]+\.\w+)`[^\n]*:\n\n$", text[:block.start()])
        yield block[1], named and named[1], block[2]


def check_form(page):
    """A block that is indented, says no language or another shell's, may hold commands that nobody runs."""
    nobodys = ("", "bash", "console", "shell", "zsh")
    wrong = [f"a block of \"{language}\" and not of sh: {text.splitlines()[0]}"
             for language, _, text in blocks_of(page) if language in nobodys]
    wrong += [f"an indented block: {line.strip()}" for line in re.findall(r"\n\n(    \S.*)", hidden(page))]
    wrong += [f"a block that no test sees: {line.strip()}" for line in re.findall(r"^(?: +```|\s*~~~).*", page, re.M)]
    wrong += [f"a block of sh that would be written and not run: {name}"
              for language, name, _ in blocks_of(page) if language == "sh" and name and not name.endswith(".sh")]
    if wrong:
        sys.exit("\n".join(wrong))


def without_those_not_run(page, name, table):
    """The page without the lines that the table has for it."""
    wrong = []
    for row in open(table, encoding="utf-8"):
        if row.startswith("#"):
            continue
        if row.count("\t") != 2:
            sys.exit(f"{table}: a row is page, line and reason, with tabs between: {row.strip()}")
        of, line, _ = row.rstrip("\n").split("\t")
        if not os.path.exists(f"{HOUSE}/{of}"):
            wrong.append(f"{table} has lines of {of}, which is not there")
        if of != name:
            continue
        if f"\n{line}\n" not in page:
            wrong.append(f"{table} lists what {name} has no more: {line}")
        page = page.replace(f"\n{line}\n", "\n")
    if wrong:
        sys.exit("\n".join(wrong))
    return page


def printed_output(session):
    lines = [line[2:] for line in session.splitlines() if line == "#" or line.startswith("# ")]
    return re.sub("\n (?! )", "", "\n".join(lines))


def pattern_of(expected):
    pattern = re.escape(expected).replace("…", "(?s:.*?)")
    pattern = re.sub(r"\b[0-9a-f]{16}\b", "[0-9a-f]{16}", pattern)
    # Time goes on between two commands.
    return re.sub(r"(try\\ again\\ in\\ )[^,\"]*?(?=,|$)", r"\1[^,\\n]*", pattern, flags=re.M)


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class Terminal:
    """Where blocks run, each in a session of its own."""

    def __init__(self, directory, user):
        self.directory = directory
        self.user = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        self.running = []  # process, path of its output, servers in it

    def start(self, command, servers=0):
        path = f"{self.directory}/{len(os.listdir(self.directory))}"
        with open(path, "w", encoding="utf-8") as output:
            child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                     start_new_session=True, **self.user)
        self.running.append((child, path, servers))
        return child, path

    def await_servers(self):
        end = time.monotonic() + PATIENCE_S
        for child, path, servers in self.running:
            while text_of(path).count(" listening on ") < servers:
                if time.monotonic() > end or (child.poll() or 0) != 0:
                    sys.exit(f"no server listens:\n{text_of(path)}")
                time.sleep(0.02)

    def end_servers(self):
        """As Ctrl-C ends them."""
        ended = [child for child, _, servers in self.running if servers]
        self.running = [entry for entry in self.running if not entry[2]]
        for child in ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
            # Of those whose shell has ended this process is the parent.
            end = time.monotonic() + PATIENCE_S
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-child.pid, os.WNOHANG)[0] != -1 and time.monotonic() < end:
                    time.sleep(0.01)

    def run(self, session):
        """(output, whether all of it succeeded)"""
        servers = [command[0] for command in SERVER.finditer(session)]
        last = session.rstrip().splitlines()[-1]
        lasting = servers and not servers[-1].rstrip().endswith("&") and last.startswith(servers[-1])
        if servers:
            self.end_servers()
        compared = printed_output(session)
        child, path = self.start(["sh", "-ec", session], len(servers))
        if lasting:
            self.await_servers()
            return text_of(path), True
        try:
            status = child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return text_of(path) + "\n(it did not end)", False
        if servers and status == 0:
            self.await_servers()
        output = re.sub("^npm warn .*\n", "", text_of(path), flags=re.M)  # of how it is set up here
        if compared and re.fullmatch(pattern_of(compared), output.rstrip("\n")) is None:
            return output, False
        return output + (f"\n(it ended with {status})" if status else ""), status == 0


def write_named(blocks):
    for _, name, text in blocks:
        if name:
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)


def run(options, terminal):
    page = text_of(options.page)
    if options.section:
        begin, end = span_of(page, options.section)
        page = page[begin:end]
    else:
        check_form(page)
        for title in options.elsewhere:
            begin, end = span_of(page, title)
            page = page[:begin] + page[end:]
        if options.not_run:
            page = without_those_not_run(page, os.path.relpath(options.page, HOUSE), options.not_run)
    blocks = list(blocks_of(page))
    if options.gate is not None:
        write_named(blocks)  # the gate may read it
        terminal.start(["weir", "gate", *options.gate], 1)
        terminal.await_servers()
    if options.instead:
        child, path = terminal.start([*options.instead.split(), "127.0.0.1:3335"])
        status = child.wait(200)
        sys.stdout.write(text_of(path))
        return status
    sessions = 0
    for block in blocks:
        language, _, session = block
        write_named([block])
        if language != "sh" or block[1] or not session.strip():
            continue
        sessions += 1
        output, good = terminal.run(session)
        if not good:
            print(f"--- printed\n{session}--- found\n{output}")
            print("".join(f"--- a server said\n{text_of(path)}" for _, path, servers in terminal.running if servers))
            return 1
    if options.section and not sessions:
        sys.exit("the section has no sh block")
    print(f"{sessions} blocks")
    return 0


def executable(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def furnish(options):
    """What a clone has that was built, where the Makefile has nothing left to do; on the path what was installed."""
    os.makedirs("build/release")
    shutil.copy(options.weir, "build/release/weir")
    os.symlink(f"{HOUSE}/Makefile", "Makefile")
    for name in ("install-deps", "configure"):
        executable(f".ci/{name}", "#!/bin/sh\n")
    executable(".ci/jobs", "#!/bin/sh\necho 1\n")
    executable(".bin/cmake", "#!/bin/sh\n")
    # Doctor's status tells what it found, of this machine too.
    directory = os.getcwd()
    executable(".bin/weir", f'#!/bin/sh\nif [ "$1" != doctor ]; then exec {directory}/build/release/weir "$@"; fi\n'
                            f'{directory}/build/release/weir "$@" || [ $? -lt 64 ]\n')
    os.environ["PATH"] = f"{directory}/.bin:{os.environ['PATH']}:{HOUSE}/build/tools"
    os.environ["HOME"] = directory
    for name in [name for name in os.environ if name.startswith(("WEIR_", "ORLY_")) or name.lower().endswith("_proxy")]:
        del os.environ[name]
    for path in options.beside:
        name, _, there = path.rpartition("=")
        os.symlink(there, name or os.path.basename(there))


def run_in(directory, outputs, options):
    os.chdir(directory)
    furnish(options)
    for command, package in options.needs:
        if subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode:
            print(f"skipped: `{command}` fails; it wants {package}")
            return 77
    ports = {3334, 3335, *map(int, re.findall(r"(?:localhost|127\.0\.0\.1):(\d+)", text_of(options.page)))}
    if in_use := sorted(port for port in ports if taken(port)):
        print(f"skipped: there may be no network of its own here, and port {in_use[0]} is taken")
        return 77
    user = "nobody" if options.nobody and os.getuid() == 0 else None
    if user:
        shutil.chown(directory, user)
    terminal = Terminal(outputs, user)
    for command in options.first:
        terminal.run(command)
    return run(options, terminal)


def main():
    parser = argparse.ArgumentParser()
    for name in ("weir", "page"):
        parser.add_argument(name)
    parser.add_argument("--section")
    parser.add_argument("--gate", action="append")
    parser.add_argument("--needs", nargs=2, action="append", default=[])
    for name in ("beside", "elsewhere", "first"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("instead", "not-run"):
        parser.add_argument(f"--{name}")
    for name in ("nobody", "in-memory"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    options.weir, options.page = os.path.abspath(options.weir), os.path.abspath(options.page)
    options.not_run = options.not_run and os.path.abspath(options.not_run)
    memory = "/dev/shm"
    has_room = options.in_memory and os.path.isdir(memory) and shutil.disk_usage(memory).free > 1 << 30
    place = memory if has_room else None
    with tempfile.TemporaryDirectory(dir=place) as directory, tempfile.TemporaryDirectory() as outputs:
        namespaces = in_namespaces()
        child = os.fork()
        if child == 0:
            end_with_parent, the_end = 1, signal.SIGKILL
            ctypes.CDLL(None).prctl(end_with_parent, the_end)
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        # The directories are the parent's to remove.
        try:
            with contextlib.nullcontext() if namespaces else on_this_machine():
                status = run_in(directory, outputs, options)
        except SystemExit as stopped:
            print(stopped.code)
            status = 1
        sys.stdout.flush()
        os._exit(status)


sys.exit(main())
