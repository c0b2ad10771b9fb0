// A worker thread that attaches a throttle to the directory of its data, and then ends as its data say.
import { parentPort, workerData } from 'node:worker_threads';
import { attach } from 'weir-throttle';

const read = name => (name.endsWith('stats') ? ' ' : '0');
const throttle = attach(workerData.directory, read);
await throttle.admit(1000);
if (workerData.end === 'close') throttle.close();
if (workerData.end === 'never') {
  // The code of the library is still needed when the last thread of JavaScript is gone.
  for (let i = 0; i < 50; ++i) attach(null, read, { options: '[CFOptions "default"]\n', settings: { rateLimitTickMs: 10 } });
  setInterval(() => {}, 1000);
}
parentPort.postMessage('attached');
if (workerData.end === 'exit') process.exit(0);
