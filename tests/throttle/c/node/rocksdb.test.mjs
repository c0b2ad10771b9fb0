// The package weir-throttle on rocksdb, of npm.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import rocksdb from 'rocksdb';
import { attach } from 'weir-throttle';
import { eventually, runToEnd } from './planted.mjs';

async function opened(t) {
  const directory = await mkdtemp(join(tmpdir(), 'weir-'));
  const db = rocksdb(directory);
  const calls = Object.fromEntries(['open', 'close', 'put', 'get'].map(name => [name, promisify(db[name]).bind(db)]));
  await calls.open();
  t.after(async () => {
    if (db.status === 'open') await calls.close();
    await rm(directory, { recursive: true });
  });
  return { directory, db, ...calls };
}

test('measures the database, and admits its writes', async t => {
  const { directory, db, put, get } = await opened(t);
  const throttle = attach(directory, name => db.getProperty(name));
  t.after(() => throttle.close());
  await throttle.admit(8);
  await put('key', 'value');
  assert.equal(String(await get('key')), 'value');
  const { signals, sensor_error: error } = throttle.view();
  assert.equal(error, '');
  assert.deepEqual(['memtables', 'l0', 'debt'].filter(name => !(name in signals)), []);
});

test('a database that is closed first is told once', async t => {
  const { directory, db, close } = await opened(t);
  const told = [];
  const read = name => (db.status === 'open' ? db.getProperty(name) : null);
  const throttle = attach(directory, read, { log: sentence => told.push(sentence) });
  t.after(() => throttle.close());
  await close();
  assert.ok(await eventually(() => throttle.view().sensor_error !== ''));
  assert.equal(throttle.tryAdmit(8), true);
  assert.equal(told.length, 1);
});

test('RocksDB stalls without weir and hardly with it', async () => {
  // With two write buffers, RocksDB stalls up to three times, for a moment, also with weir.
  const env = { ...process.env, DIVISOR: '4', FEW: '3' };
  const command = [process.execPath, 'node_modules/weir-throttle/example.mjs'];
  const { output, status } = await runToEnd('./stalls_less.sh', command, { env, patienceMs: 560_000 });
  assert.equal(status, 0, output);
});
