"""Servers of a test on free ports of 127.0.0.1: each ends with the block that it is used in."""
import contextlib
import glob
import os
import random
import re
import shutil
import socket
import subprocess
import time

PATIENCE = 60
TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/tools")


class Skip(Exception):
    """What the test needs is not on this machine."""


def find(program, package, *elsewhere):
    """Where it is: in build/tools, on the path, or in one of these places."""
    for place in (os.path.join(TOOLS, program), shutil.which(program) or "", *elsewhere):
        if os.access(place, os.X_OK):
            return os.path.realpath(place) if place.startswith(TOOLS) else place
    raise Skip(f"{program} is not here; it comes with {package}")


def free_port():
    """Below those that the kernel gives to clients."""
    while True:
        port = random.randint(12000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def eventually(what, condition):
    """What the condition returns, as soon as that is something."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.05)
    return found


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def running(command, log, up, **options):
    """`up` is given what the log says so far, and returns what the block gets."""
    with open(log, "w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
    try:
        def is_up():
            with open(log, encoding="utf-8") as text:
                said = text.read()
            if process.poll() is not None:
                raise AssertionError(f"{command[0]} ended with {process.returncode}:\n{said}")
            return up(said)
        yield eventually(" ".join(command[:2]) + " comes up", is_up)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def weir(program, command, settings, directory):
    """Yields the port. Settings: without WEIR_."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "ORLY_"))}
    own |= {f"WEIR_{name}": str(value) for name, value in settings.items()}
    listening = re.compile(r"listening on \w+://127\.0\.0\.1:(\d+)")
    return running([program, command, "--port", "0"], os.path.join(directory, f"{command}-{free_port()}.log"),
                   lambda said: (found := listening.search(said)) and int(found[1]), env=own, cwd=directory)


@contextlib.contextmanager
def redis(directory):
    program = os.path.join(directory, "redis-server")  # Debian's redis-tools has it under another name
    if not os.path.exists(program):
        os.symlink(find("redis-server", "redis-tools", "/usr/bin/redis-check-rdb"), program)
    port = free_port()
    with running([program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory],
                 os.path.join(directory, "redis.log"), lambda _: answers(port)):
        yield port


@contextlib.contextmanager
def postgres(directory):
    """For the user weir, who may do everything, and the database postgres."""
    versions = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    programs = os.path.dirname(find("initdb", "postgresql", *(f"{bin}/initdb" for bin in reversed(versions))))
    data = os.path.join(directory, "postgres")
    os.mkdir(data)
    user = {"user": "postgres", "cwd": data} if os.geteuid() == 0 else {}  # it refuses root
    if user:
        shutil.chown(data, "postgres")
        os.chmod(directory, 0o755)
    subprocess.run([f"{programs}/initdb", "-D", data, "-U", "weir", "--auth=trust", "--no-sync", "--no-locale"],
                   check=True, stdout=subprocess.DEVNULL, **user)
    port = free_port()
    with running([f"{programs}/postgres", "-D", data, "-p", str(port), "-k", data, "-c", "listen_addresses=127.0.0.1",
                  "-c", "fsync=off"], os.path.join(directory, "postgres.log"),
                 lambda said: "ready to accept connections" in said, **user):
        yield port


@contextlib.contextmanager
def kafka(directory):
    """Yields the address of a broker that is its own controller."""
    jars = os.path.join(TOOLS, "kafka/*")
    if not glob.glob(jars):
        raise Skip("no Kafka is here; .ci/test-tools brings it")
    port, controller = free_port(), free_port()
    settings = os.path.join(directory, "server.properties")
    with open(settings, "w", encoding="utf-8") as out:
        out.write(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
log.dirs={directory}/kafka
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
""")
    java = [find("java", "default-jre-headless"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", jars]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", settings], check=True,
                   stdout=subprocess.DEVNULL)
    with running([*java, "kafka.Kafka", settings], os.path.join(directory, "kafka.log"), lambda _: answers(port)):
        yield f"127.0.0.1:{port}"
