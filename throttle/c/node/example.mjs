// A bulk load beside a client that writes and reads, without weir and with it, on rocksdb of npm (npm install rocksdb):
//
//   node example.mjs [seconds]
//
// The options are those that the binding sets by itself, and the bulk load brings more than RocksDB can flush and compact.
// So RocksDB slows writes down or stops them, and then the client waits, too. With weir the bulk load waits, before it
// asks RocksDB for anything.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import rocksdb from 'rocksdb';
import { Busy, attach } from 'weir-throttle';

const MIB = 1 << 20;
const CLIENT_PERIOD_MS = 10;
const VALUE_BYTES = 4000;
const BATCH_VALUES = 32;

// The values do not compress, and to make them costs nothing.
const random = randomBytes(4 * MIB);
function randomValue() {
  const start = Math.floor(Math.random() * (random.length - VALUE_BYTES));
  return random.subarray(start, start + VALUE_BYTES);
}

/** Writes batches as fast as it may, until `load.ended`. */
async function loadInBulk(db, throttle, load) {
  while (!load.ended) {
    const batch = Array.from({ length: BATCH_VALUES }, () => ({ type: 'put', key: randomBytes(16), value: randomValue() }));
    const bytes = BATCH_VALUES * (16 + VALUE_BYTES);
    try {
      await throttle?.admit(bytes, { bulk: true });
    } catch (error) {
      if (!(error instanceof Busy)) throw error;
      await sleep(error.retryAfter);
      continue;
    }
    await db.batch(batch);
    load.bytes += bytes;
  }
}

/** Writes and reads a value every ten milliseconds. Returns the longest time until one was written, from when it was due. */
async function serveClient(db, throttle, seconds) {
  let slowest = 0;
  let due = performance.now();
  const end = due + 1000 * seconds;
  for (; due < end; due += CLIENT_PERIOD_MS) {
    await sleep(Math.max(0, due - performance.now()));
    const key = randomBytes(16);
    await throttle?.admit(16 + VALUE_BYTES);
    await db.put(key, randomValue());
    slowest = Math.max(slowest, performance.now() - due);
    await db.get(key);
  }
  return slowest;
}

/** Returns how often RocksDB slowed down or stopped writes, and for how many seconds. */
function stallsOf(raw) {
  const line = /^Stalls\(count\): (.*)$/m.exec(raw.getProperty('rocksdb.cfstats'))[1];
  const causes = /(\d+) (level0_slowdown|level0_numfiles|stop_for_\w+|slowdown_for_\w+|memtable_compaction|memtable_slowdown),/g;
  const stalls = [...line.matchAll(causes)].reduce((sum, [, count]) => sum + Number(count), 0);
  const [, h, m, s] = /^Cumulative stall: (\d+):(\d+):([\d.]+)/m.exec(raw.getProperty('rocksdb.dbstats'));
  return { stalls, seconds: 3600 * h + 60 * m + Number(s) };
}

/** Runs both for so long. Returns how often RocksDB stalled. */
export async function run(withWeir, seconds) {
  const directory = await mkdtemp(join(tmpdir(), 'weir-example-'));
  const raw = rocksdb(directory);
  const db = Object.fromEntries(['open', 'close', 'put', 'get', 'batch'].map(name => [name, promisify(raw[name]).bind(raw)]));
  await db.open({ compression: false });
  const throttle = withWeir ? attach(directory, name => raw.getProperty(name)) : undefined;
  const load = { ended: false, bytes: 0 };
  const loads = [loadInBulk(db, throttle, load), loadInBulk(db, throttle, load)];
  const start = performance.now();
  const slowest = await serveClient(db, throttle, seconds);
  load.ended = true;
  await Promise.all(loads);
  const elapsed = (performance.now() - start) / 1000;
  const stalled = stallsOf(raw);
  throttle?.close();
  await db.close();
  await rm(directory, { recursive: true });
  console.log(`${withWeir ? 'with weir:   ' : 'without weir:'} slowest write of the client ${slowest.toFixed(0).padStart(6)} ms, ` +
    `bulk load ${(load.bytes / elapsed / 1e6).toFixed(1).padStart(5)} MB/s, ` +
    `RocksDB stalled ${stalled.stalls} times, ${stalled.seconds.toFixed(1)} s`);
  return stalled.stalls;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  for (const withWeir of [false, true]) await run(withWeir, Number(process.argv[2] ?? 10));
}
