// The example of the README's first page does what it says, and ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startRelay } from './harness.mjs';

test('the example publishes, reads and ends', { timeout: 30_000 }, async () => {
  const relay = await startRelay();
  const [, example] = /```js\n(.*?)```/s.exec(readFileSync(process.env.README, 'utf8'));
  assert.ok(example.includes('ws://127.0.0.1:3334'));
  writeFileSync('readme_example.mjs', example.replace('ws://127.0.0.1:3334', relay.url));
  const child = spawn(process.execPath, ['readme_example.mjs'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', data => printed += data);
  const [status] = await once(child, 'close');
  assert.equal(status, 0);
  assert.equal(printed, 'hello\n');
  await relay.stop();
});
