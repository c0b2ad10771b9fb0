// A RocksDB whose properties a test plants, and other parts of the tests of weir-throttle.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attach } from 'weir-throttle';

export const MIB = 1 << 20;
const PATIENCE_MS = 60_000;
const OPTIONS = '[CFOptions "default"]\n  write_buffer_size=1048576\n[CFOptions "index"]\n  write_buffer_size=1048576\n';

export async function eventually(condition) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    if (condition()) return true;
    await sleep(10);
  }
  return false;
}

/** The properties of an idle database. `overload` makes it one that has stopped all writes long ago. */
export class Database {
  directory = mkdtempSync(join(tmpdir(), 'weir-'));
  error = null;
  calls = 0;
  values = {};  // by property; the others are 0

  constructor() {
    writeFileSync(join(this.directory, 'OPTIONS-000005'), OPTIONS);
  }

  overload() {
    this.values['rocksdb.num-files-at-level0'] = 1000;
  }

  read = name => {
    ++this.calls;
    if (this.error) throw this.error;
    return name in this.values ? this.values[name] : name.endsWith('stats') ? ' ' : '0';
  };

  attach(options) {
    return attach(this.directory, this.read, options);
  }

  remove() {
    rmSync(this.directory, { recursive: true });
  }
}

/** Returns a throttle for which the memory of this process is an emergency: bulk work waits until its longest delay. */
export async function emergency(database, settings) {
  const throttle = database.attach({ settings: { rateLimitTargetMemoryMb: 1, ...settings } });
  if (!(await eventually(() => throttle.view().emergency))) throw new Error(JSON.stringify(throttle.view()));
  return throttle;
}

/** Runs node with the module's text. Returns its output and its exit code. */
export function runProgram(text, env = process.env) {
  return runToEnd(process.execPath, ['--input-type=module', '-e', text], { env });
}

/** Runs a program. Returns its output and its exit code. */
export async function runToEnd(file, args, { env, patienceMs = PATIENCE_MS }) {
  const program = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [program.stdout, program.stderr]) stream.setEncoding('utf8').on('data', part => (output += part));
  const timer = setTimeout(() => program.kill('SIGKILL'), patienceMs);
  const status = await new Promise(resolve => program.on('close', (code, signal) => resolve(code ?? signal)));
  clearTimeout(timer);
  return { output, status };
}
