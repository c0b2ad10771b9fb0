// The example of the README's first page does what it says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startRelay } from './harness.mjs';

test('the example publishes and reads', { timeout: 30_000 }, async () => {
  const relay = await startRelay();
  const [, example] = /```js\n(.*?)```/s.exec(readFileSync(process.env.README, 'utf8'));
  assert.ok(example.includes('ws://127.0.0.1:3334'));
  writeFileSync('readme_example.mjs', example.replace('ws://127.0.0.1:3334', relay.url));
  const child = spawn(process.execPath, ['readme_example.mjs'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const printed = await new Promise((resolve, reject) => {
    child.stdout.on('data', data => resolve(String(data)));
    child.on('exit', code => reject(new Error(`the example ended with ${code} and printed nothing`)));
  });
  child.kill();
  assert.equal(printed, 'hello\n');
  await relay.stop();
});
