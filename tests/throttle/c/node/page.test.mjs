// The page of weir-throttle: its blocks of JavaScript run as they are printed.
import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { runProgram } from './planted.mjs';

test('its blocks run', async t => {
  const page = await readFile('node_modules/weir-throttle/README.md', 'utf8');
  const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(match => match[1]);
  assert.ok(blocks.length >= 2);
  t.after(() => rm('my.db', { recursive: true, force: true }));
  const { output, status } = await runProgram(blocks.join('\n'));
  assert.equal(status, 0, output);
  assert.match(output, /bytes_per_second/);
});

test('the types name what the package has', async () => {
  const types = await readFile('node_modules/weir-throttle/index.d.ts', 'utf8');
  const named = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(match => match[1]);
  assert.deepEqual(Object.keys(await import('weir-throttle')).sort(), named.sort());
});
