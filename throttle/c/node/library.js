// The functions of libweir.so.0, which weir.h describes, for koffi. All are called from the thread of JavaScript.
import koffi from 'koffi';

export const Code = Object.freeze({ OK: 0, BUSY: 1, TOO_LARGE: 2, WAITING: 3, INVALID: 4, FAILED: 5 });
export const Operation = Object.freeze({ READ: 0, WRITE: 1 });

const path = process.env.WEIR_LIBRARY ?? 'libweir.so.0';
function load() {
  try {
    return koffi.load(path);
  } catch (error) {
    throw new Error(`${path}: ${error.message}: install weir's C library, or name its file in WEIR_LIBRARY`, { cause: error });
  }
}
const library = load();
const system = koffi.load(null);

const Read = koffi.proto(
  'int64_t weir_read(void *context, const char *family, const char *property, void *buffer, size_t capacity)');
const Log = koffi.proto('void weir_log(void *context, const char *sentence)');

export const version = library.func('const char *weir_version()');
export const lastError = library.func('const char *weir_error()');
export const retryMs = library.func('int64_t weir_retry_ms()');

export const setupCreate = library.func('uint64_t weir_setup_create()');
export const setupDestroy = library.func('int weir_setup_destroy(uint64_t setup)');
export const setupSet = library.func('int weir_setup_set(uint64_t setup, const char *name, const char *value)');
export const setupDirectory = library.func('int weir_setup_directory(uint64_t setup, const char *path)');
export const setupOptions = library.func('int weir_setup_options(uint64_t setup, const void *text, size_t length)');
export const setupFamily = library.func('int weir_setup_family(uint64_t setup, const char *name)');
export const setupLog = library.func('int weir_setup_log(uint64_t setup, weir_log *log, void *context)');
export const setupSampledByProgram = library.func('int weir_setup_sampled_by_program(uint64_t setup)');

export const attach = library.func('uint64_t weir_attach(uint64_t setup, weir_read *read, void *context)');
export const sample = library.func('int weir_sample(uint64_t throttle)');
export const detach = library.func('int weir_detach(uint64_t throttle)');
export const close = library.func('int weir_close(uint64_t throttle)');

export const ask = library.func(
  'uint64_t weir_ask(uint64_t throttle, int operation, int work_class, uint64_t bytes, uint64_t party)');
export const ticketPoll = library.func('int weir_ticket_poll(uint64_t ticket)');
export const ticketFd = library.func('int weir_ticket_fd(uint64_t ticket)');
export const ticketEnd = library.func('int weir_ticket_end(uint64_t ticket)');

export const view = library.func('size_t weir_view(uint64_t throttle, _Out_ uint8_t *buffer, size_t capacity)');

const memcpy = system.func('void *memcpy(void *to, const void *from, size_t length)');
const fcntl = system.func('int fcntl(int fd, int command, ...)');
const F_DUPFD_CLOEXEC = 1030;

/** Returns a descriptor of the same pipe, for an owner that closes it; -1 if the process has none left. */
export function duplicate(fd) {
  return fcntl(fd, F_DUPFD_CLOEXEC, 'int', 3);
}

/** Makes a function of JavaScript one of C. `answer(family, property)` returns a text, or null. */
export function registerRead(answer) {
  return koffi.register((_context, family, property, buffer, capacity) => {
    const text = answer(family, property);
    if (text === null) return -1;
    memcpy(buffer, text, Math.min(text.length, capacity));
    return text.length;
  }, koffi.pointer(Read));
}

export function registerLog(log) {
  return koffi.register((_context, sentence) => log(sentence), koffi.pointer(Log));
}

export function unregister(callback) {
  koffi.unregister(callback);
}
