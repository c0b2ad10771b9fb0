// Sampler: what reads the database, ten times a second, by a timer: functions of JavaScript must not be called from the
// library's own threads.
import * as library from './library.js';
import { WeirError, check } from './errors.js';

function settingName(name) {
  return name.startsWith('WEIR_') ? name : 'WEIR_' + name.replace(/[A-Z]/g, letter => '_' + letter).toUpperCase();
}

// Those of this thread that are open.
const open = new Set();
process.on('exit', () => open.forEach(sampler => sampler.close()));

export class Sampler {
  handle = 0;
  #read;
  #log;
  #timer;
  #error = null;  // the last exception of the program's reader
  #fails = false;
  #isSampling = false;
  #closesLater = false;

  /** Attaches a throttle; throws a WeirError if that fails. The arguments are those of attach in index.js. */
  constructor(directory, read, { settings = {}, options, log = sentence => console.warn(`weir: ${sentence}`) } = {}) {
    const families = typeof read === 'function' ? { default: read } : read;
    this.#read = library.registerRead(this.#reader(families));
    this.#log = library.registerLog(sentence => this.#tell(log, sentence));
    const setup = library.setupCreate();
    try {
      check(library.setupSampledByProgram(setup));
      check(library.setupLog(setup, this.#log, null));
      if (directory !== null) check(library.setupDirectory(setup, String(directory)));
      if (options !== undefined) {
        const text = Buffer.from(options);
        check(library.setupOptions(setup, text, text.length));
      }
      for (const family of Object.keys(families)) check(library.setupFamily(setup, family));
      for (const [name, value] of Object.entries(settings)) check(library.setupSet(setup, settingName(name), String(value)));
      this.handle = library.attach(setup, this.#read, null);
      if (!this.handle) throw new WeirError(library.lastError(), 'WEIR_FAILED', { cause: this.#error ?? undefined });
    } finally {
      library.setupDestroy(setup);
      if (!this.handle) this.#release();
    }
    const interval = settings.WEIR_MONITOR_INTERVAL_MS ?? settings.monitorIntervalMs ?? process.env.WEIR_MONITOR_INTERVAL_MS;
    open.add(this);
    this.#timer = setInterval(() => this.#sample(log), Number(interval ?? 100)).unref();
  }

  detach() {
    if (this.#isSampling) throw new WeirError('the function that reads properties must not detach its throttle');
    clearInterval(this.#timer);
    check(library.detach(this.handle));
  }

  /** Does nothing the second time. The reader is not called again. */
  close() {
    this.#closesLater = this.#isSampling;  // the library waits for the sample that the reader is part of
    if (this.#closesLater) return;
    clearInterval(this.#timer);
    open.delete(this);
    if (library.close(this.handle) === library.Code.OK) this.#release();
  }

  // No exception may pass through C: it becomes "no answer".
  #reader(families) {
    const anyFamily = Object.values(families)[0];
    return (family, property) => {
      try {
        // The library asks "default" for what the whole database does, which every family answers.
        const value = (families[family] ?? anyFamily)(property);
        return value === undefined || value === null || value === '' ? null : Buffer.from(String(value));
      } catch (error) {
        this.#error = error;
        return null;
      }
    };
  }

  #tell(log, sentence) {
    try {
      log(sentence);
    } catch (error) {
      queueMicrotask(() => { throw error; });
    }
  }

  #sample(log) {
    this.#error = null;
    this.#isSampling = true;
    const code = library.sample(this.handle);
    this.#isSampling = false;
    // A database that does not answer fails ten times a second: one line is enough.
    if (code === library.Code.FAILED && !this.#fails) {
      const why = this.#error ? ` (${this.#error})` : '';
      this.#tell(log, `the database cannot be measured: ${library.lastError()}${why}`);
    }
    this.#fails = code === library.Code.FAILED;
    if (this.#closesLater) this.close();
  }

  #release() {
    library.unregister(this.#read);
    library.unregister(this.#log);
  }
}
