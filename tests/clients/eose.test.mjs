// Clients that are strict about EOSE, each as its own documentation uses it: what is stored comes, and then its end.
// nostrify, nostr-fetch and nostr-relaypool take no EOSE that has a third element.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { connect, now, Person, sleep, startRelay, Wire } from './harness.mjs';

globalThis.WebSocket ??= WebSocket;
const { NRelay1 } = await import('@nostrify/nostrify');
const { NostrFetcher } = await import('nostr-fetch');
const { RelayPool } = await import('nostr-relaypool');
const { publishOne, requestOne } = await import('@welshman/net');

const person = new Person();
// One reading of the clock: two would let a second pass between two notes and give both the same time.
const start = now();
const notes = [1, 2, 3].map(i => person.event(1, `note ${i}`, [], start - i));
const contents = notes.map(note => note.content);
let relay;
before(async () => {
  relay = await startRelay();
  const client = await connect(relay);
  for (const note of notes) await client.publish(note);
  client.close();
});
after(() => relay.stop());

// Those that go on without an EOSE at all wait for 10 seconds before.
const soon = promise => Promise.race([promise, sleep(8000).then(() => assert.fail('no end of the stored events'))]);

test('EOSE has two elements, and a third where that is set', async () => {
  const told = await startRelay({ WEIR_EOSE_COMPLETENESS: 'true' });
  for (const [at, expected] of [[relay, ['EOSE', 'x']], [told, ['EOSE', 'x', ['finish']]]]) {
    const wire = await Wire.open(at.url);
    wire.send(['REQ', 'x', { kinds: [30023] }]);
    assert.deepEqual(await wire.next(), expected);
    await wire.close();
  }
  await told.stop();
});

test('nostrify', async () => {
  const client = new NRelay1(relay.url, { backoff: false, idleTimeout: false });
  const found = await soon(client.query([{ kinds: [1], authors: [person.pubkey] }]));
  assert.deepEqual(found.map(event => event.content), contents);
  await client.event(person.event(1, 'from nostrify'));
  await client.close();
});

test('nostr-fetch', async () => {
  const fetcher = NostrFetcher.init({ webSocketConstructor: WebSocket });
  const found = await soon(fetcher.fetchLatestEvents([relay.url], { kinds: [1], authors: [person.pubkey] }, 2));
  assert.equal(found.length, 2);
  const all = await soon(fetcher.fetchAllEvents([relay.url], { kinds: [1] }, { until: notes[0].created_at }, { sort: true }));
  assert.deepEqual(all.map(event => event.content), contents);
  fetcher.shutdown();
});

test('nostr-relaypool', async () => {
  const pool = new RelayPool([relay.url]);
  const found = [];
  await soon(new Promise(resolve => {
    const filter = { kinds: [1], authors: [person.pubkey], until: notes[0].created_at };
    pool.subscribe([filter], [relay.url], event => found.push(event.content), undefined, () => resolve());
  }));
  assert.deepEqual(found, contents);
  pool.close();
});

test('@welshman/net', async () => {
  const result = await soon(publishOne({ relay: relay.url, event: person.event(7, '+') }));
  assert.equal(result.status, 'success');
  const ended = [];
  const filters = [{ kinds: [1], authors: [person.pubkey], until: notes[0].created_at }];
  const found = await soon(requestOne({ relay: relay.url, filters, autoClose: true, onEose: url => ended.push(url) }));
  assert.deepEqual(found.map(event => event.content), contents);
  assert.equal(ended.length, 1);
});
