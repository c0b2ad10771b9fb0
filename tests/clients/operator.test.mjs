// What an operator and a browser see: NIP-11, the page, metrics, health, the log, the ways to stop.
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Relay } from 'nostr-tools/relay';
import { connect, Person, query, sleep, startRelay, temporaryDirectory, weir, Wire } from './harness.mjs';

describe('over HTTP', () => {
  let relay;
  before(async () => (relay = await startRelay({ WEIR_RELAY_NAME: 'a "test" <relay>', WEIR_LOG_FORMAT: 'json' })));
  after(() => relay.stop());
  const get = (path, headers = {}) => fetch(relay.http + path, { headers });

  test('NIP-11, on any path, for any origin', async () => {
    for (const path of ['/', '/anything']) {
      const response = await get(path, { accept: 'application/nostr+json' });
      assert.equal(response.headers.get('content-type'), 'application/nostr+json');
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      const document = await response.json();
      assert.equal(document.name, 'a "test" <relay>');
      assert.ok(document.supported_nips.includes(1) && document.supported_nips.includes(11));
      assert.equal(document.limitation.max_subid_length, 64);
    }
  });

  test('the limits that NIP-11 tells are kept', async () => {
    const { limitation } = await (await get('/', { accept: 'application/nostr+json' })).json();
    const client = await connect(relay);
    const person = new Person();
    const tags = Array.from({ length: limitation.max_event_tags + 1 }, () => ['t', 'x']);
    await assert.rejects(client.publish(person.event(1, '', tags)), /^Error: invalid:/);
    const later = Math.floor(Date.now() / 1000) + limitation.created_at_upper_limit + 60;
    await assert.rejects(client.publish(person.event(1, '', [], later)), /^Error: invalid:/);
    client.close();
    const wire = await Wire.open(relay.url);
    wire.send(['REQ', 'x'.repeat(limitation.max_subid_length + 1), {}]);
    assert.match((await wire.next()).at(-1), /subscription/);
    wire.send('["' + 'x'.repeat(limitation.max_message_length) + '"]');
    assert.equal((await wire.closed).code, 1009);
  });

  test('the page for a browser', async () => {
    const response = await get('/', { accept: 'text/html,application/xhtml+xml' });
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    const page = await response.text();
    assert.ok(page.includes(relay.url), 'says how to connect');
    assert.ok(page.includes('<h1>a &quot;test&quot; &lt;relay&gt;</h1>'), 'escapes the name');
  });

  test('metrics count what happened', async () => {
    const client = await connect(relay);
    await client.publish(new Person().event(1, 'counted'));
    await query(client, { kinds: [1] });
    client.close();
    const text = await (await get('/metrics')).text();
    const value = series => Number(text.split('\n').find(line => line.startsWith(series + ' '))?.slice(series.length));
    for (const series of [
      'nostr_client_messages_total{verb="EVENT"}',
      'nostr_client_messages_total{verb="REQ"}',
      'nostr_relay_messages_total{verb="OK"}',
      'nostr_relay_messages_total{verb="EOSE"}',
      'nostr_events_total{kind="1"}',
      'weir_event_ok_seconds_count',
      'weir_req_eose_seconds_count',
      'weir_store_events',
      'weir_throttle_admitted_total{operation="write",class="interactive"}',
      'weir_refusals_total{prefix="invalid"}',
      'weir_memory_target_bytes',
      'weir_received_bytes_total',
    ]) {
      assert.ok(value(series) >= 1, `${series} is ${value(series)}`);
    }
    const json = await (await get('/api/metrics')).json();
    assert.ok(json.nostr_events_total['1'] >= 1);
    assert.ok(json.rate_limit.memory_pressure > 0);
  });

  test('alive and ready', async () => {
    assert.equal((await get('/healthz')).status, 200);
    assert.equal((await get('/readyz')).status, 200);
    assert.equal((await get('/nowhere')).status, 404);
    assert.equal((await fetch(relay.http + '/metrics', { method: 'POST', body: 'x' })).status, 405);
  });

  test('the log is JSON lines where that is asked for', () => {
    const lines = relay.log.trim().split('\n').map(line => JSON.parse(line));
    assert.ok(lines.some(line => line.level === 'info' && line.message.startsWith('listening on ws://')));
  });
});

describe('the commands', () => {
  test('wrong flags and settings are status 2 and say what is expected', async () => {
    for (const [args, settings, expected] of [
      [['relay', '--port', '99999'], {}, /--port=99999.*0\.\.65535/],
      [['relay', '--prot', '1'], {}, /--prot/],
      [['relay'], { WEIR_PORT: 'x' }, /WEIR_PORT=x/],
      [['relay'], { WEIR_MAX_EVENT_BYTES: '1000000' }, /WEIR_MAX_MESSAGE_BYTES/],
      [['relay'], { WEIR_DB_SYNC: 'sometimes' }, /batch/],
    ]) {
      const { code, stderr } = await weir(args, settings);
      assert.equal(code, 2, stderr);
      assert.match(stderr, expected);
    }
  });

  test('a port in use is status 1 and says what to do', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise(resolve => other.on('listening', resolve));
    const port = String(other.address().port);
    const { code, stderr } = await weir(['relay', '--port', port, '--data-dir', temporaryDirectory()]);
    other.close();
    assert.equal(code, 1, stderr);
    assert.match(stderr, /in use.*WEIR_PORT/s);
  });

  test('a second relay on the same data is told who has it', async () => {
    const relay = await startRelay();
    const { code, stderr } = await weir(['relay', '--port', '0', '--data-dir', relay.dataDir]);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`${relay.child.pid}`));
    await relay.stop();
  });

  test('says its version', async () => {
    const { code, stdout } = await weir(['--version']);
    assert.equal(code, 0);
    assert.match(stdout, /^weir \d+\.\d+\.\d+\n$/);
  });

  test('administrators show the token of the data directory, by curl and by the commands', async () => {
    const relay = await startRelay();
    const directory = temporaryDirectory();
    const note = new Person().event(1, 'imported');
    writeFileSync(join(directory, 'events.jsonl'), JSON.stringify(note) + '\n');
    const at = `--gate=${relay.http}`;
    const own = { WEIR_DATA_DIR: relay.dataDir };
    const token = readFileSync(join(relay.dataDir, 'admin.token'), 'utf8').trim();

    assert.equal((await fetch(relay.http + '/api/export')).status, 401);
    assert.equal((await fetch(relay.http + '/api/import', { method: 'POST', body: JSON.stringify(note) })).status, 401);
    for (const [args, settings] of [
      [['import', '--data-dir', relay.dataDir], {}],
      [['import', '--relay', relay.http], own],
      [['import', '--relay', relay.http, '--data-dir', directory], { WEIR_ADMIN_TOKEN: token }],
    ]) {
      const imported = await weir([...args, '--quiet', join(directory, 'events.jsonl')], settings);
      assert.equal(imported.code, 0, imported.stdout + imported.stderr);
    }
    const headers = { authorization: `Bearer ${token}` };
    assert.equal(await (await fetch(relay.http + '/api/export', { headers })).text(), JSON.stringify(note) + '\n');
    assert.equal((await weir(['export', '--data-dir', relay.dataDir, '--quiet'])).stdout, JSON.stringify(note) + '\n');
    for (const args of [['set', 'm', '--rpm', '7'], ['stats'], ['decide', 'm', '1'], ['unset', 'm']]) {
      const asked = await weir(['quota', ...args, at], own);
      assert.equal(asked.code, 0, asked.stderr);
    }

    const stranger = await weir(['quota', 'set', 'm', '--rpm', '7', at], { WEIR_DATA_DIR: directory });
    assert.equal(stranger.code, 2);
    assert.match(stranger.stderr, /is WEIR_ADMIN_TOKEN set.*set WEIR_DATA_DIR to the relay's data directory/);
    const refused = await weir(
      ['import', '--relay', relay.http, '--data-dir', directory, join(directory, 'events.jsonl')]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /refuses \(HTTP 401\).*set WEIR_DATA_DIR to the relay's data directory/);
    await relay.stop();
  });

  test('a misspelt setting is warned of with the right name', async () => {
    const relay = await startRelay({ WEIR_RELAY_NAEM: 'x' });
    assert.match(relay.log, /WEIR_RELAY_NAEM is not a setting; did you mean WEIR_RELAY_NAME\?/);
    await relay.stop();
  });

  test('scan and check beside a running relay', async () => {
    const relay = await startRelay();
    const client = await connect(relay);
    const event = new Person().event(1, 'to be found');
    await client.publish(event);
    const scanned = await weir(['scan', '--data-dir', relay.dataDir, JSON.stringify({ ids: [event.id] })]);
    assert.equal(scanned.code, 0, scanned.stderr);
    assert.equal(JSON.parse(scanned.stdout).content, 'to be found');
    const checked = await weir(['check', '--data-dir', relay.dataDir]);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    client.close();
    await relay.stop();
  });

  test('SIGHUP changes nothing; a stopping relay says good-bye', async () => {
    const relay = await startRelay();
    relay.child.kill('SIGHUP');
    const wire = await Wire.open(relay.url);
    wire.send(['REQ', 'live', { kinds: [1] }]);
    await wire.until('EOSE');
    const stopped = relay.stop();
    assert.equal((await wire.closed).code, 1001);
    assert.deepEqual(wire.messages, [], 'no CLOSED, which would end the subscription for good');
    await stopped;
    assert.match(relay.log, /SIGHUP/);
    assert.match(relay.log, /stopped/);
  });

  test('a relay takes over from another', async () => {
    const old = await startRelay();
    const client = await connect(old);
    const event = new Person().event(1, 'survives');
    await client.publish(event);
    const flags = ['--port', new URL(old.url).port, '--take-over'];
    const next = await startRelay({}, { dataDir: old.dataDir, flags });
    assert.equal((await old.ended).code, 0);
    const again = await connect(next);
    assert.equal((await query(again, { ids: [event.id] })).length, 1);
    again.close();
    await next.stop();
  });

  test('a subscription outlives the relay that it was made at', async () => {
    for (const how of ['take-over', 'restart']) {
      const old = await startRelay();
      const reader = new Relay(old.url, { enableReconnect: true });
      reader.resubscribeBackoff = [100, 200, 400];
      await reader.connect();
      const alice = new Person();
      const seen = [];
      reader.subscribe([{ authors: [alice.pubkey] }], { onevent: event => seen.push(event.content) });
      const flags = ['--port', new URL(old.url).port];
      if (how === 'restart') await old.stop();
      else flags.push('--take-over');
      const next = await startRelay({}, { dataDir: old.dataDir, flags });
      await old.ended;
      const writer = await connect(next);
      for (let n = 0; n < 120 && seen.length === 0; ++n) {
        await writer.publish(alice.event(1, `${how} ${n}`));
        await sleep(250);
      }
      assert.ok(seen.length > 0, how);
      reader.close();
      writer.close();
      await next.stop();
    }
  });

  test('the data directory copied while the relay is stopped is a backup', async () => {
    const relay = await startRelay();
    const client = await connect(relay);
    const event = new Person().event(1, 'kept');
    await client.publish(event);
    client.close();
    await relay.stop();
    const copy = temporaryDirectory();
    cpSync(relay.dataDir, copy, { recursive: true });
    const restored = await startRelay({}, { dataDir: copy });
    const reader = await connect(restored);
    assert.equal((await query(reader, { ids: [event.id] })).length, 1);
    reader.close();
    await restored.stop();
  });
});
