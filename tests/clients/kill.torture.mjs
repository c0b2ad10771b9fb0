// kill -9 while events come in: what was acknowledged is there after the restart, what was deleted is not, and the
// database is sound. WEIR_TORTURE_ROUNDS rounds on one database; every few rounds the kill comes while it starts.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { initNostrWasm } from 'nostr-wasm';
import { generateSecretKey } from 'nostr-tools/pure';
import { finalizeEvent, getPublicKey, setNostrWasm } from 'nostr-tools/wasm';
import { now, RunningRelay, sleep, temporaryDirectory, weir, Wire } from './harness.mjs';

const rounds = Number(process.env.WEIR_TORTURE_ROUNDS || 3);
const connections = 4;
const inFlight = 64;
const seed = Number(process.env.WEIR_TORTURE_SEED || Date.now() % 2 ** 31);

// Reproducible but for the timing.
let state = seed;
function random() {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return state / 0x80000000;
}

const dataDir = temporaryDirectory();
const acknowledged = new Map();  // id → event
const notes = [];                // those of kind 1
const deleted = new Set();       // ids whose deletion was acknowledged
const maybeDeleted = new Set();  // whose deletion was sent
const profiles = new Map();      // pubkey → created_at of the newest that was acknowledged
const start = now() - 100_000;
let made = 0;  // events, by all connections

// Three of four are notes, the others replace a profile or delete an acknowledged note of the same author.
function nextEvent(secret) {
  const dice = random();
  // Dense, so that the long run does not arrive at what the relay refuses as too far ahead.
  const created_at = Math.min(start + Math.floor(++made / 64), now());
  const make = (kind, content, tags = []) => finalizeEvent({ kind, content, tags, created_at }, secret);
  if (dice < 0.1) return make(0, JSON.stringify({ name: String(made) }));
  const pubkey = getPublicKey(secret);
  const own = dice < 0.2 && notes.findLast(e => e.pubkey === pubkey && !maybeDeleted.has(e.id));
  if (own) return make(5, '', [['e', own.id]]);
  return make(1, made + 'x'.repeat(Math.floor(random() * 2000)), [['t', `round${made % 7}`]]);
}

function settle(event) {
  if (event.kind === 0) profiles.set(event.pubkey, Math.max(event.created_at, profiles.get(event.pubkey) ?? 0));
  else if (event.kind === 5) deleted.add(event.tags[0][1]);
  else notes.push(event);
  acknowledged.set(event.id, event);
}

// Publishes until the connection breaks.
async function ingest(url, secret) {
  const wire = await Wire.open(url);
  wire.socket.on('error', () => {});
  const sent = new Map();
  const send = () => {
    const event = nextEvent(secret);
    if (event.kind === 5) maybeDeleted.add(event.tags[0][1]);
    sent.set(event.id, event);
    wire.send(['EVENT', event]);
  };
  wire.waiting.push(function take([verb, id, accepted, reason]) {
    wire.waiting.push(take);
    assert.equal(verb, 'OK', reason);
    const limited = !accepted && reason.startsWith('rate-limited:');
    // Of two profiles of one second the one with the lower id stays.
    const replaced = !accepted && sent.get(id).kind === 0 && reason.startsWith('replaced:');
    assert.ok(accepted || limited || replaced, reason);
    if (!limited) settle(sent.get(id));
    sent.delete(id);
    const again = () => wire.socket.readyState === wire.socket.OPEN && send();
    if (limited) setTimeout(again, 100);
    else again();
  });
  for (let i = 0; i < inFlight; ++i) send();
  await wire.closed;
}

async function served(wire, filter) {
  wire.send(['REQ', 'q', filter]);
  const events = [];
  for (;;) {
    const [verb, , event] = await wire.next();
    if (verb === 'EOSE') break;
    assert.equal(verb, 'EVENT');
    events.push(event);
  }
  wire.send(['CLOSE', 'q']);
  return events;
}

async function verify(url) {
  const wire = await Wire.open(url);
  const ids = [...acknowledged.values()].filter(e => e.kind !== 0).map(e => e.id);
  let lost = 0;
  for (let i = 0; i < ids.length; i += 500) {
    const wanted = ids.slice(i, i + 500);
    const found = new Set((await served(wire, { ids: wanted, limit: 500 })).map(e => e.id));
    for (const id of wanted) {
      if (deleted.has(id)) assert.ok(!found.has(id), `${id} was deleted and is back (seed ${seed})`);
      else if (!maybeDeleted.has(id) && !found.has(id)) ++lost;
    }
  }
  assert.equal(lost, 0, `acknowledged and lost (seed ${seed})`);
  for (const [pubkey, created_at] of profiles) {
    const found = await served(wire, { kinds: [0], authors: [pubkey] });
    assert.equal(found.length, 1, 'one profile an author');
    assert.ok(found[0].created_at >= created_at, 'no older profile than was acknowledged');
  }
  await wire.close();
}

before(async () => setNostrWasm(await initNostrWasm()));

for (let round = 1; round <= rounds; ++round) {
  test(`round ${round} of ${rounds}`, { timeout: 120_000 }, async t => {
    const relay = new RunningRelay(dataDir);
    if (round % 4 === 3) {
      await sleep(random() * 120);
      await relay.kill();
      t.diagnostic('killed while it started');
      return;
    }
    await relay.listening;
    await verify(relay.url);
    const before = acknowledged.size;
    const clients = Array.from({ length: connections }, () => ingest(relay.url, generateSecretKey()));
    await sleep(100 + random() * 1400);
    await relay.kill();
    await Promise.all(clients);
    t.diagnostic(`${acknowledged.size - before} acknowledged before the kill`);
    const { code, stdout, stderr } = await weir(['check', '--data-dir', dataDir]);
    assert.equal(code, 0, stdout + stderr);
  });
}

test('after the last kill everything is there, and the database is sound', { timeout: 120_000 }, async t => {
  const relay = new RunningRelay(dataDir);
  await relay.listening;
  await verify(relay.url);
  await relay.stop();
  const { code, stdout, stderr } = await weir(['check', '--data-dir', dataDir]);
  assert.equal(code, 0, stdout + stderr);
  assert.ok(acknowledged.size > 0);
  t.diagnostic(`${acknowledged.size} acknowledged in ${rounds} rounds, ${deleted.size} deleted, seed ${seed}`);
});
