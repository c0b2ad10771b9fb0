// An operator makes a relay public with what OPERATING.md says: friends and those whom they follow write as much as they
// like; others write slowly; a word is never taken; authors are banned from the phone, by a NIP-86 client and on the
// command line. The tests follow each other on one relay.
// Needs: chromium
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { npubEncode } from 'nostr-tools/nip19';
import { getToken } from 'nostr-tools/nip98';
import { chromium } from 'playwright-core';
import { connect, Person, query, sleep, startRelay, temporaryDirectory, weir } from './harness.mjs';

const operator = new Person();
const friend = new Person();
const followed = new Person();  // by the friend
const stranger = new Person();
const liar = new Person();

const rules = join(temporaryDirectory(), 'weir.yaml');
writeFileSync(rules, `relay:
  write:
    deny:
      words: ["(?i)free bitcoin"]
    rates:
      - {by: author, limit: 3/hour, below: regular}
`);
const settings = {
  WEIR_CONFIG: rules, WEIR_RELAY_ADMIN_PUBKEY: npubEncode(operator.pubkey), WEIR_LADDER: 'on', WEIR_TRUST_FROM: npubEncode(friend.pubkey),
};

let relay;
before(async () => (relay = await startRelay(settings)));
after(() => relay?.stop());

async function eventually(what, holds) {
  for (let tries = 0; tries < 300; ++tries) {
    if (await holds()) return;
    await sleep(200);
  }
  assert.fail(what);
}

// The reason of the refusal; '' if the relay takes the event.
async function publish(person, event) {
  const client = await connect(relay, person);
  try {
    await client.publish(event);
    return '';
  } catch (refusal) {
    return refusal.message;
  } finally {
    client.close();
  }
}
const write = (person, content) => publish(person, person.event(1, content));
async function notesOf(person) {
  const client = await connect(relay);
  const notes = await query(client, { authors: [person.pubkey], kinds: [1] });
  client.close();
  return notes;
}

// As a client of NIP-86 does it, to the URL of the relay. The relay takes no proof from before its start, and lets clocks
// be 5 s ahead.
async function manage(person, method, ...params) {
  const payload = { method, params };
  const sign = ({ kind, tags }) => person.event(kind, '', tags, Math.floor(Date.now() / 1000) + 5);
  const authorization = await getToken(relay.http, 'POST', sign, true, payload);
  const answer = await fetch(relay.http, {
    method: 'POST', body: JSON.stringify(payload), headers: { authorization, 'content-type': 'application/nostr+json+rpc' },
  });
  return { status: answer.status, ...(await answer.json()) };
}

const admin = (...args) => weir(['admin', ...args], { WEIR_DATA_DIR: relay.dataDir });

describe('a public relay', () => {
  test('the rules are what the operator means', async () => {
    const checked = await weir(['rules', 'check', rules]);
    assert.equal(checked.code, 0, checked.stderr);
    assert.match(checked.stdout, /relay\.write\.deny\.words:/);
    const tried = await weir(['rules', 'test', JSON.stringify(stranger.event(1, 'Free Bitcoin!')), '--config', rules]);
    assert.match(tried.stdout, /refused: blocked: .*words/);
  });

  test('this word never, friends as they like, others slowly', async () => {
    assert.match(await write(friend, 'FREE bitcoin'), /^blocked: /);
    for (let i = 0; i < 10; i++) assert.equal(await write(friend, `friend ${i}`), '');
    for (let i = 0; i < 3; i++) assert.equal(await write(stranger, `spam ${i}`), '');
    assert.match(await write(stranger, 'spam 3'), /^rate-limited: /);
  });

  test('whom friends follow stands high, and a stranger does not', async () => {
    assert.equal(await publish(friend, friend.event(3, '', [['p', followed.pubkey]])), '');
    const who = async person => (await weir(['who', npubEncode(person.pubkey), '--data-dir', relay.dataDir])).stdout;
    await eventually('the followed author becomes trusted', async () => /trusted/.test(await who(followed)));
    assert.match(await who(stranger), /stranger/);
    for (let i = 0; i < 5; i++) assert.equal(await write(followed, `followed ${i}`), '');
  });

  test('a reported author is banned from the phone', async () => {
    const [note] = await notesOf(stranger);
    assert.equal(await publish(followed, followed.event(1984, 'sells coins', [['e', note.id, 'spam'], ['p', stranger.pubkey]])), '');

    const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    try {
      const page = await (await browser.newContext({ viewport: { width: 360, height: 780 }, hasTouch: true })).newPage();
      await page.goto(relay.http + '/live/moderation');
      await page.getByLabel("administrators' token").fill(readFileSync(join(relay.dataDir, 'admin.token'), 'utf8').trim());
      await page.getByRole('button', { name: 'Sign in' }).tap();
      const report = page.locator('.report', { hasText: note.content });
      await report.getByRole('button', { name: 'Ban author' }).tap();
      await report.getByText(/^Banned npub1/).waitFor();
      assert.deepEqual(await notesOf(stranger), [], 'out of sight at once');
      assert.match(await write(stranger, 'again'), /^blocked: /);
      await report.getByText('3 events removed.').waitFor();
      await page.locator('#banned', { hasText: npubEncode(stranger.pubkey) }).waitFor();
      await page.getByRole('button', { name: 'Look again' }).tap();
      await page.getByText('No report waits for an answer.').waitFor();
    } finally {
      await browser.close();
    }
  });

  test('a NIP-86 client sees the ban, takes it back, and bans another', async () => {
    assert.equal((await manage(stranger, 'listbannedpubkeys')).status, 403);
    const banned = await manage(operator, 'listbannedpubkeys');
    assert.deepEqual(banned.result.map(entry => entry.pubkey), [stranger.pubkey]);
    assert.equal((await manage(operator, 'unbanpubkey', stranger.pubkey)).result, true);
    assert.doesNotMatch(await write(stranger, 'I will behave'), /^blocked: /);
    assert.equal(await write(liar, 'a lie'), '');
    assert.equal((await manage(operator, 'banpubkey', liar.pubkey, 'lies')).result, true);
    assert.deepEqual(await notesOf(liar), []);
    assert.ok((await manage(operator, 'banpubkey', 'nonsense')).error, 'says what is wrong');
  });

  test('the command line bans and allows, and a restart forgets nothing', async () => {
    const banned = await admin('ban', npubEncode(stranger.pubkey), '--reason', 'spam again');
    assert.equal(banned.code, 0, banned.stdout + banned.stderr);
    await relay.stop();
    relay = await startRelay(settings, { dataDir: relay.dataDir });
    await sleep(1000);  // or the proof below would be too near to the start
    assert.match(await write(stranger, 'once more'), /^blocked: /);
    assert.match(await write(liar, 'once more'), /^blocked: /);
    const allowed = await admin('allow', npubEncode(liar.pubkey));
    assert.equal(allowed.code, 0, allowed.stdout + allowed.stderr);
    for (let i = 0; i < 5; i++) assert.equal(await write(liar, `truth ${i}`), '', 'an allowed author is not slowed');
    const decisions = await manage(operator, 'listbannedpubkeys');
    assert.deepEqual(decisions.result.map(({ pubkey, reason }) => [pubkey, reason]), [[stranger.pubkey, 'spam again']]);
  });
});
