// The package weir-throttle on rocksdb, of npm.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import rocksdb from 'rocksdb';
import { attach } from 'weir-throttle';
import { run } from './node_modules/weir-throttle/example.mjs';
import { eventually } from './planted.mjs';

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
  const without = await run(false, 4);
  assert.ok(without > 0);
  assert.ok((await run(true, 4)) < without / 4);  // 0 to 2 on a machine that does nothing else
});
