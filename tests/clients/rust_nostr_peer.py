#!/usr/bin/python3
"""rust_nostr_peer.py <weir>: rust-nostr's client.sync (nostr-sdk, of PyPI) against a relay of its own: each side gets what it
lacks, by NIP-77. Status 77, skipped: nostr-sdk is not here."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/tools")
sys.path.insert(0, os.path.join(TOOLS, "nostr-sdk"))
try:
    import nostr_sdk as sdk
except ImportError:
    print("skipped: nostr-sdk is not here (.ci/test-tools brings it)")
    sys.exit(77)

PATIENCE = 60


class Memory(sdk.NostrDatabase):
    """The client's own events."""

    def __init__(self):
        self.events = {}

    def backend(self):
        return "memory"

    def features(self):
        return sdk.NostrDatabaseFeatures(persistent=False, event_expiration=False, full_text_search=False,
                                         request_to_vanish=False)

    async def save_event(self, event):
        self.events[event.id().to_hex()] = event
        return sdk.SaveEventStatus.success()

    async def check_id(self, event_id):
        known = event_id.to_hex() in self.events
        return sdk.DatabaseEventStatus.SAVED if known else sdk.DatabaseEventStatus.NOT_EXISTENT

    async def event_by_id(self, event_id):
        return self.events.get(event_id.to_hex())

    async def count(self, filter):
        return len(await self.query(filter))

    async def query(self, filter):
        return [event for event in self.events.values() if filter.match_event(event)]

    async def delete_events(self, filter):
        raise NotImplementedError

    async def wipe(self):
        raise NotImplementedError


async def connect(url, database):
    client = sdk.ClientBuilder().database(database).build()
    relay = sdk.RelayUrl.parse(url)
    await client.add_relay(relay)
    await client.connect()
    for _ in range(PATIENCE * 20):
        if (await client.relay(relay)).status() == sdk.RelayStatus.CONNECTED:
            return client
        await asyncio.sleep(0.05)
    sys.exit("rust-nostr does not connect")


async def synced(url, database, filter):
    """What sync reports: how many events are only here, only there, sent and received."""
    client = await connect(url, database)
    output = await client.sync(filter, opts=sdk.SyncOptions().direction(sdk.SyncDirection.BOTH))
    await client.shutdown()
    if output.failed:
        sys.exit(f"sync has failed: {list(output.failed.values())}")
    report = output.report
    return [len(report.local), len(report.remote), len(report.sent), len(report.received)]


async def run(url):
    sdk.uniffi_set_event_loop(asyncio.get_running_loop())
    keys = sdk.Keys.generate()
    notes = [sdk.EventBuilder(sdk.Kind(1), f"note {i}").custom_created_at(sdk.Timestamp.from_secs(1700000000 + i))
             .finalize(keys) for i in range(900)]
    filter = sdk.Filter().kind(sdk.Kind(1)).author(keys.public_key())
    first, second, third = Memory(), Memory(), Memory()
    for memory, own in ((first, notes[:600]), (second, notes[300:])):
        for note in own:
            await memory.save_event(note)
    seen = [await synced(url, memory, filter) for memory in (first, second, third, third)]
    expected = [[600, 0, 600, 0], [300, 300, 300, 300], [0, 900, 0, 900], [0, 0, 0, 0]]
    if seen != expected or third.events.keys() != {note.id().to_hex() for note in notes}:
        sys.exit(f"sync reports {seen}, expected {expected}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "ORLY_"))}
        relay = subprocess.Popen([sys.argv[1], "relay", "--port", "0", "--data-dir", directory], env=settings,
                                 stderr=subprocess.PIPE, text=True)
        try:
            listening = next((found for line in relay.stderr if (found := re.search(r"listening on (ws://[^;\s]+)", line))), None)
            if not listening:
                sys.exit("the relay has not started")
            asyncio.run(asyncio.wait_for(run(listening[1]), 4 * PATIENCE))
        finally:
            relay.terminate()
            relay.wait()
    print("good with rust-nostr")


main()
