// The package weir-throttle, on a database whose properties are planted.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Busy, TooLarge, WeirError, attach, libraryVersion } from 'weir-throttle';
import { Database, MIB, emergency, eventually, runProgram } from './planted.mjs';

let database;
let throttles;
beforeEach(() => {
  database = new Database();
  throttles = [];
});
afterEach(() => {
  for (const throttle of throttles) throttle.close();
  database.remove();
});
function attached(options) {
  throttles.push(database.attach(options));
  return throttles.at(-1);
}
async function attachedInEmergency(settings) {
  throttles.push(await emergency(database, settings));
  return throttles.at(-1);
}

test('admits all work of an idle database', async () => {
  const throttle = attached();
  await throttle.admit(1000);
  await throttle.admit(1000, { bulk: true, client: 2n ** 64n - 1n, signal: AbortSignal.timeout(60_000) });
  await throttle.admit(0, { client: -5 });
  assert.equal(throttle.tryAdmit(1000, { client: 7 }), true);
  assert.equal(await throttle.scan(10 * MIB, () => 'read'), 'read');
  await assert.rejects(throttle.scan(10 * MIB, () => { throw new Error('of the program'); }), /of the program/);
  assert.match(libraryVersion(), /^\d+\.\d+/);
});

test('shows its state', async () => {
  const throttle = attached();
  database.overload();
  assert.ok(await eventually(() => throttle.view().signals.l0 > 1));
  assert.ok(await eventually(() => throttle.view().bulk_writes.reason === 'l0'));
  assert.equal(throttle.view().sensor_error, '');
});

test('makes bulk work of an overloaded database wait until there is room', async () => {
  const throttle = attached();
  database.overload();
  // At the lowest limit, 16 KiB a second, so much work waits for seconds.
  assert.ok(await eventually(() => !throttle.tryAdmit(65_536, { bulk: true })));
  await throttle.admit(1000);
  delete database.values['rocksdb.num-files-at-level0'];
  await throttle.admit(1000, { bulk: true });
});

test('refuses work that waited for too long, and the loop goes on meanwhile', async () => {
  const throttle = await attachedInEmergency({ importMaxDelayMs: 200 });
  assert.equal(throttle.tryAdmit(1000, { bulk: true }), false);
  let turns = 0;
  const timer = setInterval(() => ++turns, 1);
  await assert.rejects(throttle.admit(1000, { bulk: true }), error => error instanceof Busy && error.retryAfter > 0);
  clearInterval(timer);
  assert.ok(turns > 0);
  await assert.rejects(throttle.admit(1000, { bulk: true }), { code: 'WEIR_BUSY', message: /emergency/ });
  await throttle.admit(1000);
});

test('an impossible size is too large', async () => {
  const throttle = attached();
  await assert.rejects(throttle.admit(2 ** 50), TooLarge);
  assert.throws(() => throttle.tryAdmit(2 ** 50), error => error instanceof TooLarge && error instanceof WeirError);
});

test('something else than a size is a mistake', async () => {
  const throttle = attached();
  for (const bytes of [-1, 1.5, NaN, 2 ** 64, '1000', undefined, null])
    await assert.rejects(throttle.admit(bytes), RangeError);
});

test('settings have short names and full ones', async () => {
  attached({ settings: { importSetpoint: 0.5, rateLimitEnabled: true } }).close();
  const throttle = attached({ settings: { WEIR_IMPORT_SETPOINT: '0.5' } });
  database.overload();
  assert.ok(await eventually(() => throttle.view().bulk_writes.setpoint === 0.5));
});

test('attach says what is wrong', () => {
  for (const settings of [{ importSetpoint: 7 }, { importSetpoint: 'high' }, { importSetpont: 0.5 }])
    assert.throws(() => attached({ settings }), { code: 'WEIR_INVALID', message: /WEIR_IMPORT_SETPO/ });
  assert.throws(() => attach('/nowhere', database.read), { code: 'WEIR_FAILED', message: /nowhere/ });
  assert.throws(() => attach(null, database.read), WeirError);
  assert.throws(() => attach(null, database.read, { options: 'no options' }), { code: 'WEIR_INVALID' });
  assert.throws(() => attach(database.directory, { missing: database.read }), { message: /missing/ });
  database.error = new Error('a mistake of the program');
  assert.throws(() => attached(), error => error instanceof WeirError && error.cause === database.error);
  database.error = null;
  attached();  // nothing of the failed ones stands in its way
});

test('options may be given as text', async () => {
  const throttle = attach(null, database.read, { options: '[CFOptions "default"]\n  level0_slowdown_writes_trigger=104\n' });
  throttles.push(throttle);
  database.values['rocksdb.num-files-at-level0'] = 54;
  assert.ok(await eventually(() => throttle.view().signals.l0 > 0.4 && throttle.view().signals.l0 < 0.6));
});

test('watches the families that it is given', () => {
  const asked = [];
  throttles.push(attach(database.directory, { index: name => (asked.push(name), database.read(name)) }));
  assert.ok(asked.includes('rocksdb.cfstats'));
});

test('a second throttle of a database is refused', () => {
  const first = attached();
  assert.throws(() => attached(), /already/);
  first.close();
  attached();
});

test('an exception of the reader is told once', async () => {
  const told = [];
  const throttle = attached({ log: sentence => told.push(sentence) });
  database.error = new Error('a mistake of the program');
  const { calls } = database;
  assert.ok(await eventually(() => database.calls > calls + 5));
  assert.notEqual(throttle.view().sensor_error, '');
  assert.equal(throttle.tryAdmit(1000), true);
  assert.equal(told.length, 1);
  assert.match(told[0], /a mistake of the program/);
  database.error = null;
  assert.ok(await eventually(() => throttle.view().sensor_error === ''));
});

test('an answer that is none is told once', async () => {
  const told = [];
  const throttle = attached({ log: sentence => told.push(sentence) });
  const garbage = ['garbage', '', '-1', '9'.repeat(100), {}, '\0\ufffd', 1.5, null, undefined, Object.create(null)];
  for (const answer of garbage) {
    told.length = 0;
    database.values['rocksdb.num-running-flushes'] = answer;
    assert.ok(await eventually(() => throttle.view().sensor_error !== ''));
    assert.equal(told.length, 1);
    delete database.values['rocksdb.num-running-flushes'];
    assert.ok(await eventually(() => throttle.view().sensor_error === ''));
  }
});

test('a text may be long', () => {
  database.values['rocksdb.cfstats'] = 'line\n'.repeat(20_000);
  assert.equal(attached().view().sensor_error, '');
});

test('tells that RocksDB brakes by itself', async () => {
  const told = [];
  const throttle = attached({ log: sentence => told.push(sentence) });
  database.overload();
  assert.ok(await eventually(() => throttle.view().signals.l0 > 1));
  database.values['rocksdb.is-write-stopped'] = 1;
  assert.ok(await eventually(() => told.length > 0));
  assert.match(told[0], /RocksDB stops writes by itself/);
  assert.ok(await eventually(() => throttle.view().escapes > 0));
});

test('a mistake in the log function is one of the program', async () => {
  const { output, status } = await runProgram(`${SETUP}
    process.on('uncaughtException', error => { console.log(error.message); process.exit(5); });
    const other = new Database();
    other.attach({ log: () => { throw new Error('of the program'); } });
    other.error = new Error('fails');
    setTimeout(() => {}, 60_000);`);
  assert.deepEqual({ output, status }, { output: 'of the program\n', status: 5 });
});

test('a closed throttle is a mistake to ask', async () => {
  const throttle = attached();
  throttle.close();
  throttle.close();
  await assert.rejects(throttle.admit(1), { code: 'WEIR_INVALID' });
  for (const ask of [() => throttle.tryAdmit(1), () => throttle.view(), () => throttle.detach()])
    assert.throws(ask, { code: 'WEIR_INVALID' });
  const { calls } = database;
  await sleep(300);
  assert.equal(database.calls, calls);
});

test('a detached throttle admits everything, and refuses what waits', async () => {
  const throttle = await attachedInEmergency();
  const waiting = assert.rejects(throttle.admit(1000, { bulk: true }), Busy);
  throttle.detach();
  await waiting;
  throttle.detach();
  await throttle.admit(100 * MIB, { bulk: true });
});

test('close ends many waits', async () => {
  const throttle = await attachedInEmergency();
  const waits = Array.from({ length: 100 }, (_, client) =>
    assert.rejects(throttle.admit(1000, { bulk: true, client }), Busy));
  throttle.close();
  await Promise.all(waits);
});

test('a signal gives a wait up', async () => {
  const throttle = await attachedInEmergency();
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  for (let i = 0; i < 50; ++i) {
    const controller = new AbortController();
    const waiting = assert.rejects(throttle.admit(1000, { bulk: true, signal: controller.signal }), { name: 'AbortError' });
    controller.abort();
    await waiting;
  }
  assert.ok(await eventually(() => descriptors() < before + 50), 'descriptors are lost');
  await assert.rejects(throttle.admit(1, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  await assert.rejects(throttle.admit(1000, { bulk: true, signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' });
  const controller = new AbortController();
  const waiting = throttle.admit(1000, { bulk: true, signal: controller.signal });
  controller.abort('the user left');
  assert.equal(await waiting.catch(reason => reason), 'the user left');
});

test('a reader may close its throttle, and not detach it', async () => {
  let turn = 0;
  let detached;
  const throttle = attach(database.directory, name => {
    if (turn === 1) {
      try {
        throttle.detach();
      } catch (error) {
        detached = error;
      }
      throttle.close();
      turn = 2;
    }
    return database.read(name);
  });
  turn = 1;
  assert.ok(await eventually(() => turn === 2));
  assert.ok(detached instanceof WeirError);
  assert.throws(() => throttle.view(), { code: 'WEIR_INVALID' });
  attached();
});

const SETUP = `import { Database, emergency } from './planted.mjs';
  const database = new Database();
  process.on('exit', () => database.remove());
  const throttle = await emergency(database);
`;

test('a program ends by itself with an open throttle', async () => {
  assert.deepEqual(await runProgram(SETUP + "console.log('ends')"), { output: 'ends\n', status: 0 });
});

test('a program may exit while work waits', async () => {
  const program = "for (let i = 0; i < 8; ++i) throttle.admit(1000, { bulk: true });\nconsole.log('exits'); process.exit(3)";
  assert.deepEqual(await runProgram(SETUP + program), { output: 'exits\n', status: 3 });
});

test('a worker thread may end with an open throttle', async () => {
  const program = `import { Worker } from 'node:worker_threads';
    import { once } from 'node:events';
    import { Database } from './planted.mjs';
    const database = new Database();
    process.on('exit', () => database.remove());
    for (const end of ['exit', 'close', 'by itself', 'never']) {
      const worker = new Worker('./worker.mjs', { execArgv: [], workerData: { directory: database.directory, end } });
      if (end === 'never') {
        await once(worker, 'message');
        await worker.terminate();
      } else {
        await once(worker, 'exit');
        database.attach().close();  // the worker's is closed
      }
    }
    console.log('good');`;
  assert.deepEqual(await runProgram(program), { output: 'good\n', status: 0 });
});

test('the library must be where the system or WEIR_LIBRARY says', async () => {
  const program = "console.log((await import('weir-throttle')).libraryVersion())";
  const { WEIR_LIBRARY, ...others } = process.env;
  const missing = await runProgram(program, { ...others, WEIR_LIBRARY: '/nowhere/libweir.so.0' });
  assert.equal(missing.status, 1);
  assert.match(missing.output, /nowhere.*name its file in WEIR_LIBRARY/s);
  const installed = await runProgram(program, { ...others, LD_LIBRARY_PATH: dirname(WEIR_LIBRARY) });
  assert.deepEqual(installed, { output: `${libraryVersion()}\n`, status: 0 });
});
