// A client of NIP-86 (welshman's) manages a relay, and weir admin sees what it did.
import { ManagementMethod, makeHttpAuth, sendManagementRequest } from '@welshman/util';
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { nip19 } from 'nostr-tools';
import { connect, Person, query, sleep, startRelay, weir } from './harness.mjs';

describe('an administrator with a key', () => {
  const operator = new Person();
  const moderator = new Person();
  const spammer = new Person();
  let relay;
  before(async () => {
    relay = await startRelay({
      WEIR_RELAY_ADMIN_PUBKEY: nip19.npubEncode(operator.pubkey),
      WEIR_RELAY_ADMINS: `${nip19.npubEncode(moderator.pubkey)}:moderate`,
    });
    await sleep(1000); // proofs may be dated 5 s ahead, and must be more than 5 s after the start
  });
  after(() => relay.stop());

  async function ask(person, method, ...params) {
    const request = { method, params };
    const template = await makeHttpAuth(relay.http, 'POST', JSON.stringify(request));
    const created = Math.floor(Date.now() / 1000) + 5;
    return sendManagementRequest(relay.http, request, person.event(template.kind, '', template.tags, created));
  }

  test('bans an author, whose events are gone and not taken again', async () => {
    const client = await connect(relay);
    await client.publish(spammer.event(1, 'buy this'));
    assert.deepEqual(await ask(moderator, ManagementMethod.BanPubkey, spammer.pubkey, 'spam'), { result: true });
    assert.deepEqual(await query(client, { authors: [spammer.pubkey] }), []);
    await assert.rejects(client.publish(spammer.event(1, 'buy that')), /^Error: (blocked|restricted):/);
    client.close();
    const banned = await ask(moderator, ManagementMethod.ListBannedPubkeys);
    assert.deepEqual(banned, { result: [{ pubkey: spammer.pubkey, reason: 'spam' }] });
    const listed = await weir(['admin', 'list', 'bans', '--data-dir', relay.dataDir]);
    assert.equal(listed.stdout, `${nip19.npubEncode(spammer.pubkey)}  spam\n`);
    assert.ok(relay.log.includes(nip19.npubEncode(moderator.pubkey)), 'the log names the administrator');
  });

  test('may do what the settings say, and no more', async () => {
    const mine = await ask(moderator, ManagementMethod.SupportedMethods);
    assert.ok(mine.result.includes('banpubkey') && !mine.result.includes('changerelayname'));
    assert.match((await ask(moderator, ManagementMethod.ChangeRelayName, 'x')).error, /does not have the right "settings"/);
    assert.match((await ask(spammer, ManagementMethod.SupportedMethods)).error, /not an administrator's/);
    assert.match((await ask(moderator, ManagementMethod.BanPubkey, operator.pubkey)).error, /administrator/);
  });

  test('renames the relay', async () => {
    assert.deepEqual(await ask(operator, ManagementMethod.ChangeRelayName, 'renamed'), { result: true });
    const document = await (await fetch(relay.http, { headers: { accept: 'application/nostr+json' } })).json();
    assert.equal(document.name, 'renamed');
    assert.ok(document.supported_nips.includes(86));
    assert.equal(document.pubkey, operator.pubkey);
  });
});
