#!/usr/bin/env python3
"""relay_peers.py <weir> rust-nostr|nostr-relay: `weir sync` with a relay of others: that of rust-nostr, which compares by NIP-77,
or nostr-relay, in Python over SQLite, which is read by pages. Each side gets what it lacks. Status 77, skipped: it is not here."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/tools")
OF_NOSTR_RELAY = os.path.join(TOOLS, "nostr-relay")
PATIENCE = 60
WEIR = sys.argv[1]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "ORLY_"))}


def notes(sdk):
    """Lines of 900 events: notes, three in a second, and a replaceable event of each of 30 authors."""
    keys = sdk.Keys.generate()
    events = [sdk.EventBuilder(sdk.Kind(1), f"note {i}").custom_created_at(sdk.Timestamp.from_secs(1700000000 + i // 3)).finalize(keys)
              for i in range(870)]
    events += [sdk.EventBuilder(sdk.Kind(10002), "").custom_created_at(sdk.Timestamp.from_secs(1700000000 + i)).finalize(
        sdk.Keys.generate()) for i in range(30)]
    return [event.as_json() for event in events]


def weir(*arguments, lines=()):
    done = subprocess.run([WEIR, *arguments], input="\n".join(lines), env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"weir {' '.join(arguments)} ends with {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def sync(url, directory):
    return json.loads(weir("sync", url, "--data-dir", directory, "--summary", "json", "--quiet"))


def stored(directory):
    return {json.loads(line)["id"] for line in weir("export", "--data-dir", directory).splitlines()}


def check(name, url, lines, by_pages):
    """The other relay is empty. It gets the first 600 events from one directory, and then shares with another, which has the last 600."""
    ids = [json.loads(line)["id"] for line in lines]
    with tempfile.TemporaryDirectory() as work:
        first, second, third = (os.path.join(work, part) for part in ("first", "second", "third"))
        weir("import", "--data-dir", first, "-", lines=lines[:600])
        weir("import", "--data-dir", second, "-", lines=lines[300:])
        seen = [sync(url, directory) for directory in (first, second, second, third)]
        counts = [(run["received"], run["accepted"]) for run in seen]
        if by_pages:  # the pages bring also what is here
            counts = [(run["saved"]["imported"], run["accepted"]) for run in seen]
        if counts != [(0, 600), (300, 300), (0, 0), (900, 0)]:
            sys.exit(f"{name}: sync counts {counts}; {seen}")
        if any(bool(run["by_pages"]) != by_pages or not run["whole"] for run in seen):
            sys.exit(f"{name}: the sets were not compared as expected: {seen}")
        if stored(second) != set(ids) or stored(third) != set(ids):
            sys.exit(f"{name}: the sets differ")
    print(f"good with {name}")


async def rust_nostr(sdk, lines):
    sdk.uniffi_set_event_loop(asyncio.get_running_loop())
    relay = sdk.LocalRelayBuilder().rate_limit(sdk.RateLimit(max_reqs=500, notes_per_minute=100000)).build()
    await relay.run()
    url = str(await relay.url())
    await asyncio.to_thread(check, "rust-nostr's relay", url, lines, False)
    relay.shutdown()


def nostr_relay(lines):
    with tempfile.TemporaryDirectory() as work:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {"relay_name": "other", "relay_description": "other", "max_limit": 100,
                    "storage": {"sqlalchemy.url": f"sqlite+aiosqlite:///{work}/events.sqlite3",
                                "validators": ["nostr_relay.validators.is_signed"]},
                    "verification": {"nip05_verification": "disabled"}, "authentication": {"enabled": False},
                    "gunicorn": {"bind": f"127.0.0.1:{port}", "workers": 1, "loglevel": "error"}}
        configuration = os.path.join(work, "relay.yaml")
        with open(configuration, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        with open(os.path.join(work, "log"), "w+", encoding="utf-8") as log:
            relay = subprocess.Popen([sys.executable, "-c", "from nostr_relay.cli import main; main()", "-c", configuration, "serve"],
                                     env=ENVIRONMENT | {"PYTHONPATH": OF_NOSTR_RELAY, "HOME": work}, stdout=log, stderr=log)
            try:
                for _ in range(PATIENCE * 10):
                    try:
                        socket.create_connection(("127.0.0.1", port)).close()
                        break
                    except ConnectionRefusedError:
                        time.sleep(0.1)
                check("nostr-relay", f"ws://127.0.0.1:{port}", lines, True)
            except SystemExit:
                log.seek(0)
                print(log.read())
                raise
            finally:
                relay.terminate()
                relay.wait()


def main():
    sys.path.insert(0, os.path.join(TOOLS, "nostr-sdk"))
    try:
        import nostr_sdk as sdk
    except ImportError:
        print("skipped: nostr-sdk is not here (.ci/test-tools brings it)")
        sys.exit(77)
    if sys.argv[2] == "rust-nostr":
        asyncio.run(rust_nostr(sdk, notes(sdk)))
    elif os.path.isdir(OF_NOSTR_RELAY):
        nostr_relay(notes(sdk))
    else:
        print("skipped: nostr-relay is not here (.ci/test-tools brings it)")
        sys.exit(77)


main()
