// NDK, which most web clients are built on: publish, fetch, subscribe live.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { sleep, startRelay } from './harness.mjs';

globalThis.WebSocket ??= WebSocket;
const { default: NDK, NDKEvent, NDKPrivateKeySigner } = await import('@nostr-dev-kit/ndk');

let relay;
const clients = [];
before(async () => (relay = await startRelay()));
after(async () => {
  for (const client of clients) for (const one of client.pool.relays.values()) one.disconnect();
  await relay.stop();
});

async function connect(signer) {
  const client = new NDK({ explicitRelayUrls: [relay.url], signer, enableOutboxModel: false });
  clients.push(client);
  await client.connect(5000);
  for (let i = 0; i < 2400 && client.pool.connectedRelays().length === 0; ++i) await sleep(25);
  assert.equal(client.pool.connectedRelays().length, 1, 'NDK did not connect');
  return client;
}

function note(client, content) {
  const event = new NDKEvent(client);
  event.kind = 1;
  event.content = content;
  event.tags = [['t', 'ndk']];
  return event;
}

test('publish and fetch', async () => {
  const client = await connect(NDKPrivateKeySigner.generate());
  const event = note(client, 'from NDK');
  const relays = await event.publish();
  assert.equal(relays.size, 1);
  const found = await client.fetchEvents({ ids: [event.id] }, { closeOnEose: true });
  assert.deepEqual([...found].map(e => e.content), ['from NDK']);
});

test('what one publishes another sees live', async () => {
  const writer = await connect(NDKPrivateKeySigner.generate());
  const reader = await connect();
  const author = (await writer.signer.user()).pubkey;
  const subscription = reader.subscribe({ kinds: [1], authors: [author] }, { closeOnEose: false });
  const arrived = new Promise(resolve => subscription.on('event', resolve));
  await new Promise(resolve => subscription.on('eose', resolve));
  await note(writer, 'live').publish();
  assert.equal((await arrived).content, 'live');
  subscription.stop();
});

test('a profile is replaced', async () => {
  const signer = NDKPrivateKeySigner.generate();
  const client = await connect(signer);
  const pubkey = (await signer.user()).pubkey;
  for (const [i, name] of ['first', 'second'].entries()) {
    const event = new NDKEvent(client);
    event.kind = 0;
    event.content = JSON.stringify({ name });
    event.created_at = Math.floor(Date.now() / 1000) - 10 + i;
    await event.publish();
  }
  const found = await client.fetchEvents({ kinds: [0], authors: [pubkey] }, { closeOnEose: true });
  assert.deepEqual([...found].map(e => JSON.parse(e.content).name), ['second']);
});

test('NDK Sync learns by NIP-77 which events it lacks', async () => {
  const { NDKSync } = await import('@nostr-dev-kit/sync');
  const writer = await connect(NDKPrivateKeySigner.generate());
  const author = (await writer.signer.user()).pubkey;
  const events = [];
  for (let i = 0; i < 40; ++i) {
    const event = note(writer, `synced ${i}`);
    event.created_at = 1700000000 + i;
    await event.publish();
    events.push(event);
  }
  // A cache that has half of them, and one event that the relay lacks.
  const own = note(writer, 'only here');
  own.created_at = 1700000100;
  await own.sign();
  const cached = new Map([...events.slice(0, 20), own].map(event => [event.id, event]));
  const reader = await connect();
  reader.cacheAdapter = {
    locking: true,
    query: () => [...cached.values()],
    setEvent: async event => cached.set(event.id, event),
  };
  const sync = new NDKSync(reader);
  const [connection] = reader.pool.connectedRelays();
  assert.ok(await sync.checkRelaySupport(connection));
  const result = await sync.sync({ kinds: [1], authors: [author] });
  assert.deepEqual([...result.have], [own.id]);
  assert.deepEqual(result.need, new Set(events.slice(20).map(event => event.id)));
  assert.equal(cached.size, 41);
});
