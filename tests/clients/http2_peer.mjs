// node's own HTTP/2 against `weir gate` at an address: many streams at once, and streams that are given up.
import assert from 'node:assert';
import http2 from 'node:http2';

const origin = process.argv[2];

function ask(session, method, path, body = '') {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': method, ':path': path }, { endStream: body === '' });
    let status;
    let text = '';
    stream.setEncoding('utf8');
    stream.on('response', (headers) => { status = headers[':status']; });
    stream.on('data', (piece) => { text += piece; });
    stream.on('end', () => resolve({ status, text }));
    stream.on('error', reject);
    if (body !== '') stream.end(body);
  });
}

const session = http2.connect(origin);
const decide = JSON.stringify({ model: 'gpt-4o', tokens: 1 });
const answers = await Promise.all(Array.from({ length: 1000 }, () => ask(session, 'POST', '/v1/decide', decide)));
for (const { status, text } of answers) {
  assert.equal(status, 200);
  assert.equal(JSON.parse(text).code, 'ok');
}
assert.equal((await ask(session, 'GET', '/nowhere')).status, 404);
assert.equal((await ask(session, 'DELETE', '/healthz')).status, 405);
assert.equal((await ask(session, 'POST', '/v1/decide', ' '.repeat(100_000))).status, 413);
assert.equal((await ask(session, 'HEAD', '/metrics')).text, '');
for (let n = 0; n < 100; ++n) session.request({ ':path': '/metrics' }).close(http2.constants.NGHTTP2_CANCEL);
assert.ok((await ask(session, 'GET', '/metrics')).text.includes('weir_'));
await new Promise((resolve) => session.close(resolve));
