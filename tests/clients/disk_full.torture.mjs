// A full disk: EVENTs are answered OK false "error: …", REQs go on, and when there is room EVENTs are taken again; nothing
// acknowledged is lost. On a small file system in memory, which needs root.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { connect, Person, query, sleep, startRelay, temporaryDirectory, weir } from './harness.mjs';

const disk = temporaryDirectory();
try {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'weir-test', disk], { stdio: 'pipe' });
} catch (error) {
  console.log(`skipped: cannot mount a small file system (${String(error.stderr ?? error).trim()})`);
  process.exit(77);
}
const unmount = () => execFileSync('umount', ['--lazy', disk]);
process.prependListener('exit', unmount);

const filler = join(disk, 'filler');
const dataDir = join(disk, 'data');
const person = new Person();
const acknowledged = [];
let relay;
let client;

before(async () => {
  mkdirSync(dataDir);
  relay = await startRelay({}, { dataDir });
  client = await connect(relay);
});
after(() => {
  client.close();
  console.log(relay.log);
});

const bigNote = () => person.event(1, randomBytes(24 * 1024).toString('base64'));

async function publish(event) {
  try {
    await client.publish(event);
    acknowledged.push(event.id);
    return '';
  } catch (error) {
    return error.message.slice(0, 300);  // a client quotes what it could not send
  }
}

async function assertAllServed() {
  for (let i = 0; i < acknowledged.length; i += 100) {
    const ids = acknowledged.slice(i, i + 100);
    assert.equal((await query(client, { ids, limit: 500 })).length, ids.length);
  }
}

function fillDisk() {
  const file = openSync(filler, 'w');
  const piece = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeSync(file, piece);
  } catch (error) {
    assert.equal(error.code, 'ENOSPC');
  }
  closeSync(file);
}

test('with room events are taken', async () => {
  for (let i = 0; i < 40; ++i) assert.equal(await publish(bigNote()), '');
});

test('without room they are refused with the reason, and reading goes on', { timeout: 60_000 }, async t => {
  fillDisk();
  let refusal = '';
  for (let i = 0; i < 400 && refusal === ''; ++i) refusal = await publish(bigNote());
  assert.match(refusal, /^error: /);
  t.diagnostic(`after ${acknowledged.length} events: ${refusal}`);
  for (let i = 0; i < 5; ++i) assert.match(await publish(bigNote()), /^(error|rate-limited): /);
  await assertAllServed();
  assert.ok((await client.count([{ authors: [person.pubkey] }], {})) >= acknowledged.length);
  assert.equal((await fetch(relay.http + '/readyz')).status, 503);
  assert.equal((await fetch(relay.http + '/healthz')).status, 200);
});

test('with room again they are taken again, without a restart', { timeout: 90_000 }, async t => {
  rmSync(filler);
  const start = Date.now();
  let refusal;
  while ((refusal = await publish(bigNote())) !== '' && Date.now() - start < 60_000) await sleep(200);
  assert.equal(refusal, '');
  t.diagnostic(`taken again after ${Date.now() - start} ms`);
  for (let i = 0; i < 10; ++i) assert.equal(await publish(bigNote()), '');
  assert.equal((await fetch(relay.http + '/readyz')).status, 200);
  await assertAllServed();
});

test('nothing acknowledged is lost, and the database is sound', { timeout: 60_000 }, async () => {
  client.close();
  await relay.stop();
  const { code, stdout, stderr } = await weir(['check', '--data-dir', dataDir]);
  assert.equal(code, 0, stdout + stderr);
  relay = await startRelay({}, { dataDir });
  client = await connect(relay);
  await assertAllServed();
  await relay.stop();
});
