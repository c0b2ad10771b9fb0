// What every test here needs: a relay of its own in a temporary directory, clients, events.
//
//   const relay = await startRelay({ WEIR_AUTH_REQUIRED: 'true' });
//   …
//   await relay.stop();  // by SIGTERM; fails if it did not end in order
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finalizeEvent, generateSecretKey, getPublicKey } from 'nostr-tools/pure';
import { Relay, useWebSocketImplementation } from 'nostr-tools/relay';
import WebSocket from 'ws';

useWebSocketImplementation(WebSocket);

export const program = process.env.WEIR;
if (!program) throw new Error('WEIR must name the program');

// The settings of whoever runs the tests are not the tests'.
function environment(settings) {
  const own = Object.entries(process.env).filter(([name]) => !/^(WEIR|ORLY)_/.test(name));
  return { ...Object.fromEntries(own), ...settings };
}

// A program ends with this process even where that is killed, if setpriv is here.
const tied = ['setpriv', '--pdeathsig', 'KILL'];
const canTie = spawnSync(tied[0], [...tied.slice(1), 'true']).status === 0;
function start(args, settings, stdio) {
  const [command, ...rest] = [...(canTie ? tied : []), program, ...args];
  return spawn(command, rest, { env: environment(settings), stdio });
}

// What a test that failed midway has left: ended and removed with the process.
const children = new Set();
const directories = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'weir-clients-'));
  directories.add(directory);
  return directory;
}

export class RunningRelay {
  constructor(dataDir, flags = ['--port', '0'], settings = {}) {
    const args = ['relay', '--data-dir', dataDir, ...flags];
    const child = start(args, settings, ['ignore', 'ignore', 'pipe']);
    children.add(child);
    Object.assign(this, { child, dataDir, log: '', url: '' });
    this.ended = new Promise(resolve => child.on('exit', (code, signal) => resolve({ code, signal })));
    this.ended.then(() => children.delete(child));
    this.listening = new Promise((resolve, reject) => {
      child.stderr.on('data', data => {
        this.log += data;
        const found = /listening on (wss?:\/\/[^\s;]+)/.exec(this.log);
        if (found && !this.url) resolve((this.url = found[1]));
      });
      this.ended.then(({ code, signal }) => reject(new Error(`weir relay ended (${code ?? signal}):\n${this.log}`)));
    });
    this.listening.catch(() => {});
  }

  get http() {
    return this.url.replace(/^ws/, 'http');
  }

  async stop() {
    this.child.kill('SIGTERM');
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`weir relay ended with ${code ?? signal}:\n${this.log}`);
  }

  // As a power cut would, but for what the kernel has not written yet.
  async kill() {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

export async function startRelay(settings = {}, { dataDir = temporaryDirectory(), flags } = {}) {
  const relay = new RunningRelay(dataDir, flags, settings);
  await relay.listening;
  return relay;
}

// Runs a command of the program to its end.
export async function weir(args, settings = {}) {
  const child = start(args, settings, ['ignore', 'pipe', 'pipe']);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', data => (stdout += data));
  child.stderr.on('data', data => (stderr += data));
  const code = await new Promise(resolve => child.on('close', resolve));
  return { code, stdout, stderr };
}

export const now = () => Math.floor(Date.now() / 1000);

// Somebody with a key.
export class Person {
  secret = generateSecretKey();
  pubkey = getPublicKey(this.secret);

  event(kind, content = '', tags = [], created_at = now()) {
    return finalizeEvent({ kind, content, tags, created_at }, this.secret);
  }
  signer() {
    return async template => finalizeEvent(template, this.secret);
  }
}

export async function connect(relay, person) {
  const client = await Relay.connect(relay.url ?? relay);
  client.publishTimeout = 60_000;
  client.notices = [];
  client.onnotice = text => client.notices.push(text);
  if (person) client.onauth = person.signer();
  return client;
}

// The stored events that match, in the order in which they came; fails where the relay answers with CLOSED.
export function query(client, ...filters) {
  return new Promise((resolve, reject) => {
    const events = [];
    const subscription = client.subscribe(filters, {
      onevent: event => events.push(event),
      oneose: () => {
        resolve(events);
        subscription.close();
      },
      onclose: reason => {
        clearTimeout(subscription.eoseTimeoutHandle);  // else it keeps the process
        reject(new Error(reason));
      },
      eoseTimeout: 60_000,
    });
  });
}

// Every message of a bare WebSocket, to be taken one by one.
export class Wire {
  static async open(url, options = {}) {
    const wire = new Wire();
    wire.socket = new WebSocket(url, options);
    wire.messages = [];
    wire.waiting = [];
    wire.closed = new Promise(resolve => wire.socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })));
    wire.socket.on('message', data => {
      const message = JSON.parse(data);
      const next = wire.waiting.shift();
      if (next) next(message);
      else wire.messages.push(message);
    });
    await new Promise((resolve, reject) => wire.socket.on('open', resolve).on('error', reject));
    return wire;
  }
  send(message) {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }
  next() {
    if (this.messages.length > 0) return Promise.resolve(this.messages.shift());
    return new Promise(resolve => this.waiting.push(resolve));
  }
  async until(verb) {
    for (;;) {
      const message = await this.next();
      if (message[0] === verb) return message;
    }
  }
  close() {
    this.socket.close();
    return this.closed;
  }
}

export const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
