// The page at /live/moderation in a browser. The relay's answers to its calls are made here, so that the page also meets
// answers that a relay seldom gives.
// Needs: chromium
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import { noteEncode, npubEncode } from 'nostr-tools/nip19';
import { chromium } from 'playwright-core';
import { startRelay } from './harness.mjs';

const pictures = join(process.cwd(), 'screenshots');
mkdirSync(pictures, { recursive: true });

const hex = digit => digit.repeat(64);
const spammer = hex('a');
const victim = hex('b');
const kPhone = { width: 360, height: 780 };

const noteReport = (id, more = {}) => ({
  id, created_at: 1_764_000_000, reporter: hex('9'), type: 'spam', text: 'the third time today', answered: false,
  event: { id: hex('e'), verdict: 'none', stored: true, kind: 1, created_at: 1_763_990_000, content: 'Buy <b>now</b>!\n\nfree <script>alert(1)</script>' },
  author: { pubkey: spammer, verdict: 'none', claimed: false }, ...more,
});
const authorReport = { ...noteReport(hex('3')), type: 'impersonation', text: '', event: undefined, author: { pubkey: victim, verdict: 'none', claimed: false } };

// Answers calls as a relay does, from its members. `fails` has the answers of methods that fail.
class Answers {
  lists = { bannedpubkeys: [], allowedpubkeys: [] };
  // Reports by the parameter with which they are asked for, and the parameter for older ones.
  reports = { '': [noteReport(hex('1')), noteReport(hex('2'), { type: 'nudity', text: '' }), authorReport] };
  olderReports = {};
  removals = [];
  fails = {};
  calls = [];
  methods = ['listreports', 'listremovals', 'listbannedpubkeys', 'listallowedpubkeys', 'banpubkey', 'unbanpubkey', 'allowpubkey',
    'unallowpubkey', 'banevent', 'unbanevent', 'allowevent', 'unallowevent'];

  result(method, [subject, reason]) {
    if (method === 'supportedmethods') return this.methods;
    if (method === 'listreports') return this.reports[reason ?? ''];
    if (method === 'listremovals') return this.removals;
    if (method.startsWith('list')) return this.lists[method.slice(4)];
    const [, un, verb, about] = /^(un)?(ban|allow)(.*)$/.exec(method);
    for (const past of ['banned', 'allowed'])
      if (about === 'pubkey') this.lists[past + 'pubkeys'] = this.lists[past + 'pubkeys'].filter(({ pubkey }) => pubkey !== subject);
    if (!un && about === 'pubkey') this.lists[{ ban: 'banned', allow: 'allowed' }[verb] + 'pubkeys'].push({ pubkey: subject, reason });
    return true;
  }

  async fulfill(route) {
    const { method, params } = route.request().postDataJSON();
    assert.equal(route.request().headers()['content-type'], 'application/nostr+json+rpc');
    this.calls.push([method, ...params]);
    const after = method === 'listreports' ? this.olderReports[params[1] ?? ''] : undefined;
    const answer = this.fails[method] ?? { json: { result: this.result(method, params), after } };
    return answer === 'abort' ? route.abort() : route.fulfill(answer);
  }
  decisions() {
    return this.calls.filter(([method]) => /^(un)?(ban|allow)/.test(method));
  }
}

let browser;
let relay;
before(async () => {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  relay = await startRelay({ WEIR_RELAY_NAME: 'relay.example', WEIR_ADMIN_FROM_LOOPBACK: 'true' });
});
after(() => Promise.all([browser?.close(), relay?.stop()]));

async function open(answers, options = {}) {
  const context = await browser.newContext({ viewport: kPhone, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on('pageerror', error => page.complaints.push(error.message));
  page.on('console', message => message.type() === 'error' && page.complaints.push(message.text()));
  await page.route('**/api/moderation', route => answers.fulfill(route));
  await page.goto(relay.http + '/live/moderation');
  return page;
}
const close = page => page.context().close();
const card = (page, title) => page.locator('.report', { has: page.getByRole('heading', { name: title }) });
const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const answerOf = (scope, text) => scope.locator('.answer', { hasText: text }).waitFor();

describe('reports', () => {
  test('about one event share a card, whose contents are text', async () => {
    const page = await open(new Answers());
    const note = card(page, 'spam, nudity');
    await note.waitFor();
    assert.equal(await page.locator('.report').count(), 2);
    assert.equal(await note.locator('.said').first().textContent(), noteReport('').event.content);
    assert.equal(await note.locator('script, b').count(), 0);
    assert.equal(await note.locator('.by code').textContent(), npubEncode(spammer));
    await note.getByText('2 reports').click();
    await note.getByText('the third time today').waitFor();
    assert.deepEqual(await card(page, 'impersonation').locator('.actions button').allTextContents(), ['Ban author', 'Allow author']);
    assert.deepEqual(page.complaints, []);
    await close(page);
  });

  test('a ban says what it did and how far the removal is, and can be taken back', async () => {
    const answers = new Answers();
    answers.removals = [{ pubkey: spammer, removed: 4, done: false }];
    const page = await open(answers);
    const note = card(page, 'spam, nudity');
    await button(note, 'Ban author').click();
    await answerOf(note, /^Banned npub1\S+…\S{4}\. The events of this author are hidden\. 4 events removed, and the removal goes on\./);
    assert.deepEqual(answers.decisions(), [['banpubkey', spammer, 'spam, nudity']]);
    await page.locator('#banned', { hasText: npubEncode(spammer) }).waitFor();
    await page.locator('#removals', { hasText: '4 events removed' }).waitFor();
    assert.ok(await button(note, 'Ban author').isHidden());
    answers.removals = [{ pubkey: spammer, removed: 12, done: true }];
    await answerOf(note, /hidden\. 12 events removed\./);
    await page.getByText('No removal is in progress.').waitFor();
    await button(note, 'Undo').click();
    await answerOf(note, /^Took back the decision about npub1.*do not come back\./);
    assert.deepEqual(answers.decisions().at(-1).slice(0, 2), ['unbanpubkey', spammer]);
    await button(note, 'Ban author').waitFor();
    await page.getByText('No author is banned.').waitFor();
    await close(page);
  });

  test('many types do not make a reason that the relay refuses as too long', async () => {
    const answers = new Answers();
    answers.reports[''] = Array.from({ length: 20 }, (_, i) => noteReport(hex('1'), { type: '🙈'.repeat(39) + String.fromCharCode(97 + i) }));
    const page = await open(answers);
    await button(page, 'Ban author').click();
    await answerOf(page, /^Banned/);
    const [[, , reason]] = answers.decisions();
    assert.ok(reason.startsWith('🙈') && reason.isWellFormed());
    assert.ok(Buffer.byteLength(reason) <= 1024, `${Buffer.byteLength(reason)} bytes`);
    await close(page);
  });

  test('an undo brings back the decision that was there', async () => {
    const answers = new Answers();
    answers.lists.allowedpubkeys = [{ pubkey: victim, reason: 'a friend' }];
    const page = await open(answers);
    await page.locator('#allowed', { hasText: 'a friend' }).waitFor();
    await button(card(page, 'impersonation'), 'Ban author').click();
    await button(card(page, 'impersonation'), 'Undo').click();
    await answerOf(card(page, 'impersonation'), /^Allowed/);
    assert.deepEqual(answers.decisions(), [['banpubkey', victim, 'impersonation'], ['allowpubkey', victim, 'a friend']]);
    await close(page);
  });

  test('an event is allowed or banned by itself', async () => {
    const answers = new Answers();
    const page = await open(answers);
    const note = card(page, 'spam, nudity');
    await button(note, 'Allow event').click();
    await answerOf(note, /^Allowed note1/);
    await button(note, 'Ban event').click();
    await answerOf(note, /^Banned note1/);
    assert.deepEqual(answers.decisions().map(call => call.slice(0, 2)), [['allowevent', hex('e')], ['banevent', hex('e')]]);
    await close(page);
  });

  test('older ones come when they are asked for', async () => {
    const answers = new Answers();
    answers.reports = { '': [noteReport(hex('1'))], '7-1': [authorReport] };
    answers.olderReports = { '': '7-1' };
    const page = await open(answers);
    await button(page, 'Older reports').evaluate(older => { older.click(); older.click(); });
    await card(page, 'impersonation').waitFor();
    await page.waitForFunction(() => document.getElementById('older').hidden);
    assert.equal(await card(page, 'impersonation').locator('summary').textContent(), '1 report', 'although it was asked for twice');
    assert.equal(await page.locator('.report').count(), 2);
    assert.ok(await button(page, 'Older reports').isHidden());
    await page.getByLabel('also answered ones').check();
    await page.waitForFunction(() => document.querySelectorAll('.report').length === 1);
    assert.deepEqual(answers.calls.at(-1), ['listreports', 'all']);
    await close(page);
  });
});

describe('the box', () => {
  test('takes npub, hex and note1, and says what is wrong with others', async () => {
    const answers = new Answers();
    answers.reports = { '': [] };
    const page = await open(answers);
    await page.getByText('No report waits for an answer.').waitFor();
    const decide = async (subject, verb) => {
      await page.getByLabel('Author, by npub').fill(subject);
      await button(page, verb).click();
    };
    const box = page.locator('#decide');
    await decide(npubEncode(spammer).replace(/.$/, c => (c === 'q' ? 'p' : 'q')), 'Ban');
    await answerOf(box, 'is a character missing or wrong?');
    await page.getByLabel('Reason').fill('a scam');
    await decide('nostr:' + npubEncode(spammer), 'Ban');
    await answerOf(box, /^Banned npub1/);
    await decide(victim.toUpperCase(), 'Allow');
    await answerOf(box, /^Allowed npub1/);
    await decide(noteEncode(hex('e')), 'Ban');
    await answerOf(box, /^Banned note1/);
    assert.deepEqual(answers.decisions(), [['banpubkey', spammer, 'a scam'], ['allowpubkey', victim, 'a scam'], ['banevent', hex('e'), 'a scam']]);
    await close(page);
  });

  test('finds one of many banned authors', async () => {
    const answers = new Answers();
    answers.lists.bannedpubkeys = Array.from({ length: 20_000 }, (_, i) => ({ pubkey: i.toString(16).padStart(64, '0') }));
    const page = await open(answers);
    const wanted = answers.lists.bannedpubkeys[19_000].pubkey;
    await page.getByText('and 19950 others').waitFor();
    const asked = answers.calls.length;
    assert.equal(await page.locator('#banned li').count(), 50);
    const shownFor = async (typed, rows) => {
      await page.getByLabel('Author, by npub').fill(typed);
      await page.waitForFunction(n => document.querySelectorAll('#banned li').length === n, rows, { timeout: 5000 });
    };
    await shownFor('npub', 50);
    await shownFor(npubEncode(wanted).slice(0, 57), 1);
    await shownFor(npubEncode(wanted).slice(0, 6), 50);
    await shownFor('npub1b', 0);
    await shownFor(wanted, 1);
    await shownFor(npubEncode(wanted), 1);
    await button(page, 'Unban').click();
    await answerOf(page, /^Took back/);
    await page.getByText('None matches the box above.').waitFor();
    assert.deepEqual(answers.calls.slice(asked), [['unbanpubkey', wanted, '']], 'the lists are not read again');
    await close(page);
  });
});

describe('when the relay refuses', () => {
  test('an administrator without the right to moderate sees but does not act', async () => {
    const answers = new Answers();
    answers.methods = answers.methods.filter(method => method.startsWith('list'));
    answers.lists.bannedpubkeys = [{ pubkey: hex('c'), reason: '' }];
    const page = await open(answers);
    await page.getByText('no right to moderate').waitFor();
    await card(page, 'spam, nudity').waitFor();
    await page.locator('#banned li').waitFor();
    for (const name of ['Ban', 'Allow', 'Ban author', 'Allow event', 'Unban'])
      for (const one of await button(page, name).all()) assert.ok(await one.isHidden(), name);
    await close(page);
  });

  for (const [what, fails, expected] of [
    ['an error of the method', { json: { error: 'administrators cannot be banned' } }, 'Administrators cannot be banned.'],
    ['a refusal of the server', { status: 403, json: { error: { code: 'forbidden', message: 'you may not do this' } } }, 'You may not do this.'],
    ['the end of the session', { status: 401, json: { error: { code: 'unauthorized', message: 'for administrators only' } } },
      'The relay no longer knows this browser. Reload the page to sign in again.'],
    ['a proxy', { status: 502, body: '' }, 'The relay has answered with the HTTP status 502.'],
    ['no answer', 'abort', 'The relay cannot be reached. Try again in a moment.'],
  ]) {
    test(`${what} is shown as a sentence`, async () => {
      const answers = new Answers();
      const page = await open(answers);
      const note = card(page, 'spam, nudity');
      await note.waitFor();
      answers.fails.banpubkey = fails;
      await button(note, 'Ban author').click();
      await note.locator('.answer.problem', { hasText: expected }).waitFor();
      assert.ok(await button(note, 'Ban author').isEnabled(), 'it can be tried again');
      answers.fails = { listreports: fails };
      await button(page, 'Look again').click();
      await page.getByRole('alert').filter({ hasText: expected }).waitFor();
      await close(page);
    });
  }
});

describe('the page', () => {
  async function keepsTheRules(page, width) {
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => axe.run());
    assert.deepEqual(violations.map(v => `${v.id}: ${v.nodes.map(n => n.html).join(' ').slice(0, 300)}`), []);
  }

  for (const colorScheme of ['light', 'dark']) {
    for (const width of [360, 1280]) {
      test(`fits ${width} px and breaks no rule of accessibility, ${colorScheme}`, async () => {
        const answers = new Answers();
        answers.lists.bannedpubkeys = [{ pubkey: hex('c'), reason: 'sells followers' }];
        answers.removals = [{ pubkey: hex('c'), removed: 4123, done: false }, { id: hex('d'), removed: 0, done: false }];
        const wide = noteReport(hex('4'), { type: 'W'.repeat(40), text: 'W'.repeat(500) });
        wide.event = { ...wide.event, id: hex('f'), stored: false };
        wide.author = { ...wide.author, claimed: true };
        answers.reports[''].push(wide);
        const page = await open(answers, { colorScheme, viewport: { width, height: 780 } });
        await button(card(page, 'spam, nudity'), 'Ban author').click();
        await answerOf(card(page, 'spam, nudity'), 'Banned');
        await page.locator('details').last().locator('summary').click();
        await keepsTheRules(page, width);
        await close(page);
      });
    }
  }

  test('a finger finds each button', async () => {
    const page = await open(new Answers());
    await card(page, 'spam, nudity').waitFor();
    for (const one of await page.locator('.actions button:visible').all()) assert.ok((await one.boundingBox()).height >= 44);
    await close(page);
  });

  test('a browser that signs in on it comes back to it, and its calls have the session', async () => {
    const closed = await startRelay();
    const page = await (await browser.newContext({ viewport: kPhone })).newPage();
    await page.goto(closed.http + '/live/moderation');
    await page.getByLabel("administrators' token").fill('wrong');
    await button(page, 'Sign in').click();
    await page.getByRole('alert').filter({ hasText: 'wrong token' }).waitFor();
    await page.getByLabel("administrators' token").fill(readFileSync(join(closed.dataDir, 'admin.token'), 'utf8').trim());
    const called = page.waitForRequest('**/api/moderation');
    await button(page, 'Sign in').click();
    assert.equal(new URL(page.url()).pathname, '/live/moderation');
    assert.match((await (await called).allHeaders()).cookie, /weir_live_/);
    await page.getByRole('link', { name: 'Live' }).click();
    await page.getByRole('link', { name: 'Moderation' }).click();
    await page.getByRole('heading', { name: 'Reports' }).waitFor();
    await close(page);
    await closed.stop();
  });

  test('says without JavaScript that it needs it', async () => {
    const page = await open(new Answers(), { javaScriptEnabled: false });
    assert.match(await page.locator('noscript').innerText(), /^This page needs JavaScript/);
    assert.ok(await button(page, 'Look again').isHidden());
    await close(page);
  });

  test('its picture', async () => {
    const answers = new Answers();
    answers.lists.bannedpubkeys = [{ pubkey: hex('c'), reason: 'sells followers' }];
    answers.removals = [{ pubkey: spammer, removed: 4123, done: false }];
    const plain = noteReport(hex('1'));
    plain.event.content = 'Double your bitcoin today! Send any amount to the address in my profile, and get back twice as much within an hour.';
    answers.reports[''][0] = plain;
    const page = await open(answers, { colorScheme: 'dark' });
    await button(card(page, 'spam, nudity'), 'Ban author').click();
    await answerOf(card(page, 'spam, nudity'), '4123 events removed');
    await page.evaluate(() => document.getElementById('reports-title').scrollIntoView());
    await page.screenshot({ path: join(pictures, 'moderation.png') });
    await close(page);
  });
});
