#!/usr/bin/python3
"""Runs what a page prints, as it is printed.

printed.py <weir> <page.md> <section> [--gate=ARGUMENT]... [--beside PATH]... [--needs COMMAND PACKAGE]... [--instead COMMAND]

In a directory of its own it writes each block that has a name (the line before it has a `name.of` and ends with a colon), starts `weir gate` there
with these arguments, and runs each `sh` block. Its output must be the lines that begin with `# `: one that goes on with two blanks
continues the one before, and … stands for anything. localhost:3335 is that gate; any other port is one that is free.
--beside: what is there too. --instead: that command, with the gate's address, in the place of the sh blocks. Status 77, skipped:
a command fails that shows that its package is here. build/tools (.ci/test-tools) is on the path.
"""
import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def section_of(page, title):
    """The text below that heading, up to the next of its rank or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", page, re.M)
    if not found:
        sys.exit(f"no section has the title {title}")
    rest = page[found.end():]
    # A comment of a block is no heading.
    headings = re.sub(BLOCK, lambda block: re.sub("[^\n]", " ", block[0]), rest)
    end = re.search(rf"^#{{1,{len(found[1])}}} ", headings, re.M)
    return rest[:end.start()] if end else rest


def blocks_of(section):
    """(language, name or None, text) of each."""
    for block in BLOCK.finditer(section):
        named = re.search(r"`([\w-]+\.\w+)`[^\n]*:\n\n$", section[:block.start()])
        yield block[1], named and named[1], block[2]


def with_ports(text, ports):
    """ports is what stands for each printed one, and grows."""
    def free(found):
        if found[2] not in ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                ports[found[2]] = str(probe.getsockname()[1])
        return found[1] + ports[found[2]]
    return re.sub(r"((?:localhost|127\.0\.0\.1)[: ]|port_value: )(\d{4,5})\b", free, text)


def printed_output(session):
    lines = [line[2:] for line in session.splitlines() if line == "#" or line.startswith("# ")]
    return re.sub("\n (?! )", "", "\n".join(lines))


def pattern_of(expected):
    pattern = re.escape(expected).replace("…", "(?s:.*?)")
    pattern = re.sub(r"\b[0-9a-f]{16}\b", "[0-9a-f]{16}", pattern)
    # Time goes on between two commands.
    return re.sub(r"(try\\ again\\ in\\ )[^,\"]*?(?=,|$)", r"\1[^,\\n]*", pattern, flags=re.M)


def start_gate(weir, arguments):
    log = open("gate.log", "w+")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "ORLY_"))}
    gate = subprocess.Popen([weir, "gate", "--port", "0", *arguments], stderr=log, env=own)
    end = time.monotonic() + 60
    while time.monotonic() < end and gate.poll() is None:
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", open("gate.log").read())
        if found:
            return gate, found[1]
        time.sleep(0.02)
    gate.kill()
    sys.exit("weir gate does not listen:\n" + open("gate.log").read())


def output_of(command):
    """Of all that it starts; what it leaves running is ended."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                             start_new_session=True)
    try:
        return child.communicate(timeout=200)[0], child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()[0] + "\n(it did not end)", 1
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(options):
    with open(options.page, encoding="utf-8") as page:
        blocks = list(blocks_of(section_of(page.read(), options.section)))
    for _, name, text in blocks:
        if name:  # the gate may read it
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
    gate, port = start_gate(options.weir, options.gate)
    try:
        ports = {"3335": port}
        for _, name, text in blocks:
            if name:
                with open(name, "w", encoding="utf-8") as file:
                    file.write(with_ports(text, ports))
        if options.instead:
            output, status = output_of([*options.instead.split(), f"127.0.0.1:{port}"])
            sys.stdout.write(output)
            return status
        sessions = [text for language, _, text in blocks if language == "sh"]
        if not sessions:
            sys.exit("the section has no sh block")
        for session in sessions:
            output, _ = output_of(["sh", "-c", with_ports(session, ports)])
            output = re.sub("^npm warn .*\n", "", output, flags=re.M)  # of how it is set up here
            expected = with_ports(printed_output(session), ports)
            if not re.fullmatch(pattern_of(expected), output.rstrip("\n")):
                print(f"--- expected\n{expected}\n--- found\n{output}\n--- the log of the gate\n{open('gate.log').read()}")
                return 1
        return 0
    finally:
        gate.terminate()
        gate.wait()


def main():
    parser = argparse.ArgumentParser()
    for name in ("weir", "page", "section"):
        parser.add_argument(name)
    parser.add_argument("--gate", action="append", default=[])
    parser.add_argument("--needs", nargs=2, action="append", default=[])
    parser.add_argument("--beside", action="append", default=[])
    parser.add_argument("--instead")
    options = parser.parse_args()
    os.environ["PATH"] += f":{HERE}/../../build/tools"
    options.weir, options.page = os.path.abspath(options.weir), os.path.abspath(options.page)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for path in options.beside:
            os.symlink(path, os.path.basename(path))
        for command, package in options.needs:
            if subprocess.run(["sh", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                print(f"skipped: `{command}` fails; it wants {package}")
                return 77
        return run(options)


sys.exit(main())
