// A relay that speaks TLS itself: nostr-tools over wss, node's fetch over https.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, Person, query, startRelay, temporaryDirectory } from './harness.mjs';

const directory = temporaryDirectory();
const [key, certificate] = [join(directory, 'key'), join(directory, 'certificate')];
const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=relay',
                                   '-keyout', key, '-out', certificate]);
// The certificate is nobody's but this test's.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';

test('publishes and reads over wss', { timeout: 60_000, skip: made.status !== 0 && 'openssl is not here' }, async () => {
  const relay = await startRelay({ WEIR_TLS_CERT: certificate, WEIR_TLS_KEY: key });
  assert.ok(relay.url.startsWith('wss://'));
  const person = new Person();
  const client = await connect(relay);
  const note = person.event(1, 'x'.repeat(50_000));
  await client.publish(note);
  assert.deepEqual((await query(client, { ids: [note.id] })).map(event => event.content), [note.content]);
  const page = await fetch(relay.http);
  assert.equal(page.status, 200);
  assert.ok((await page.text()).includes('wss://'), 'the page names the address that the browser may use');
  client.close();
  await relay.stop();
});
