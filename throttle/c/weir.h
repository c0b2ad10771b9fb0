/* weir.h: the throttle for a RocksDB, for programs in any language.
 *
 * A RocksDB that gets more writes than it can flush and compact slows its writers down or stops them, for seconds. With
 * weir, each write asks first. weir measures the load of the database ten times a second, and lets writes wait just
 * long enough that RocksDB need not act. Work that no client awaits, such as an import, waits longer than the rest.
 *
 *   weir_setup setup = weir_setup_create();
 *   weir_setup_directory(setup, "/var/lib/my.db");                      // the open database is here
 *   weir_setup_set(setup, "WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "1400");  // memory for the whole program
 *   weir_throttle throttle = weir_attach(setup, read_property, db);     // 0: weir_error() says why
 *   weir_setup_destroy(setup);
 *
 *   if (weir_admit(throttle, WEIR_WRITE, WEIR_BULK, bytes, client, WEIR_PATIENT) == WEIR_OK)
 *     rocksdb_write(db, …);
 *
 *   weir_close(throttle);                                               // call it before the database is closed
 *
 * The library never calls RocksDB. It reads the database through a function of the program (weir_read), so it works
 * with every version and every binding. weir_rocksdb.h has that function for programs that use RocksDB's C API.
 *
 * Handles. A handle is a number, never 0. A handle that is 0, unknown or ended is a mistake that every function
 * notices: it returns WEIR_INVALID and does nothing else.
 *
 * Errors. A function that does not return WEIR_OK sets the message that weir_error returns in the same thread.
 *
 * Threads. Every function may be called from any thread. The functions of the program (weir_read, weir_log) are called
 * from one thread of the library, one call at a time, or from the callers of weir_sample, and weir_set_options from the
 * callers of weir_attach, weir_detach and weir_close; none after weir_detach has returned. They must not call
 * weir_detach or weir_close, and no exception may leave them.
 *
 * fork(). In a child process weir admits everything at once, has an empty view, and never calls the program's
 * functions.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t weir_setup;
typedef uint64_t weir_throttle;
typedef uint64_t weir_ticket;

typedef enum weir_code {
  WEIR_OK = 0,
  WEIR_BUSY = 1,      /* refused, or not admitted in time: do nothing, and try again after weir_retry_ms() */
  WEIR_TOO_LARGE = 2, /* refused for its size, which cannot be admitted within the longest wait: split it */
  WEIR_WAITING = 3,   /* a ticket is not settled yet */
  WEIR_INVALID = 4,   /* a mistake in the call: a handle or a value that is none */
  WEIR_FAILED = 5     /* the program could not be served, for instance because the database does not answer */
} weir_code;

typedef enum weir_operation { WEIR_READ = 0, WEIR_WRITE = 1 } weir_operation;
typedef enum weir_class {
  WEIR_INTERACTIVE = 0, /* a client awaits the result: waits at most a second, unless a setting says otherwise */
  WEIR_BULK = 1         /* an import, a backfill: waits at most a minute, and so leaves the database to the others */
} weir_class;

/* Returns the version of the library, such as "1.2.3". */
const char* weir_version(void);
/* Returns why the last call of this thread did not return WEIR_OK or a handle. Valid until its next call. */
const char* weir_error(void);
/* Returns after how many milliseconds to try again what this thread's last call refused or left waiting. */
int64_t weir_retry_ms(void);

/* ---- What to attach to --------------------------------------------------------------------------------------------
 */

/* Asks the database for the text of a property of a column family, as rocksdb_property_value_cf does: writes at most
 * `capacity` bytes of it to `buffer`, and returns how many bytes the text has. If these are more than `capacity`, it is
 * called again with a larger buffer. Returns -1 if the database does not answer or is closed. */
typedef int64_t (*weir_read)(void* context, const char* family, const char* property, char* buffer, size_t capacity);
/* Gets a sentence for the operator's log, such as that RocksDB brakes although writes are limited. */
typedef void (*weir_log)(void* context, const char* sentence);

/* Sets options of a column family of the open database, as rocksdb_set_options_cf does. Returns 0 if RocksDB took them.
 */
typedef int (*weir_set_options)(void* context, const char* family, size_t count, const char* const* names,
                                const char* const* values);

/* One thread at a time may use a setup. */
weir_setup weir_setup_create(void);
weir_code weir_setup_destroy(weir_setup setup);
/* Sets a setting by its name in config/SETTINGS.md (WEIR_RATE_LIMIT_…, WEIR_IMPORT_…, WEIR_MONITOR_…). It takes
 * precedence over an environment variable of that name. Without WEIR_RATE_LIMIT_TARGET_MEMORY_MB, the program may use
 * the memory that it uses when it attaches, and 66 % of what is free then. */
weir_code weir_setup_set(weir_setup setup, const char* name, const char* value);
/* Names the directory of the database, from whose newest OPTIONS file weir takes the options, also when they change.
 * Either this or weir_setup_options must be called. */
weir_code weir_setup_directory(weir_setup setup, const char* path);
/* Gives the options as the text of an OPTIONS file, for a database whose directory weir cannot read. */
weir_code weir_setup_options(weir_setup setup, const char* text, size_t length);
/* Adds a column family to those that weir watches. Without this call, it watches "default". */
weir_code weir_setup_family(weir_setup setup, const char* name);
weir_code weir_setup_log(weir_setup setup, weir_log log, void* context);
/* Lets weir move RocksDB's own brakes (level0_slowdown_writes_trigger and four more options) to higher loads while it
 * is attached, because it acts before them; bulk work then does more. weir_detach sets them back. A program that loads
 * its options from an OPTIONS file must set these options itself at each start: a file of a killed process has the
 * moved ones. */
weir_code weir_setup_set_options(weir_setup setup, weir_set_options set, void* context);
/* Makes weir take samples only in weir_sample, for a program whose functions must not be called from another thread. */
weir_code weir_setup_sampled_by_program(weir_setup setup);

/* Attaches a throttle to the open database that `read` reads. Returns 0 if a setting is wrong, if the options or the
 * properties cannot be read, or if a throttle of this process is attached to the directory already. */
weir_throttle weir_attach(weir_setup setup, weir_read read, void* context);
/* Measures the database now, in this thread. Call it ten times a second after weir_setup_sampled_by_program. */
weir_code weir_sample(weir_throttle throttle);
/* Ends all waits by a refusal, admits everything from then on, and never calls the program's functions again: waits for
 * a call that runs. A second call does nothing. */
weir_code weir_detach(weir_throttle throttle);
/* Does the same and ends the handle. Tickets keep their own. */
weir_code weir_close(weir_throttle throttle);

/* ---- Asking -------------------------------------------------------------------------------------------------------
 */

#define WEIR_PATIENT ((int64_t)-1) /* wait as long as the class of the work waits */

/* Asks for the admission of one operation (a weir_operation and a weir_class), and waits for it: at most `timeout_ms`,
 * at most the longest wait of its class; 0 never waits. `bytes` is what a write stores, or what a read is likely to
 * touch. `party` is a number for the client for which the work is done: parties that wait get equal shares. Returns
 * WEIR_OK, WEIR_BUSY or WEIR_TOO_LARGE; if not WEIR_OK, do not do the work. */
weir_code weir_admit(weir_throttle throttle, int operation, int work_class, uint64_t bytes, uint64_t party,
                     int64_t timeout_ms);

/* Asks without waiting, for loops, and for scans that hold their permit while they run. The ticket is settled at once,
 * or when weir_ticket_fd can be read. End it when the work is done, or to give the wait up. Returns 0 for a mistake. */
weir_ticket weir_ask(weir_throttle throttle, int operation, int work_class, uint64_t bytes, uint64_t party);
/* Returns the outcome: WEIR_OK, WEIR_BUSY, WEIR_TOO_LARGE, or WEIR_WAITING. */
weir_code weir_ticket_poll(weir_ticket ticket);
/* Waits for the outcome, at most `timeout_ms`. */
weir_code weir_ticket_wait(weir_ticket ticket, int64_t timeout_ms);
/* Returns the read end of a pipe that gets a byte when the ticket is settled; -1 if there is none. The ticket closes
 * it. */
int weir_ticket_fd(weir_ticket ticket);
weir_code weir_ticket_end(weir_ticket ticket);

/* ---- Looking ------------------------------------------------------------------------------------------------------
 */

/* Writes the state of the throttle as a JSON object into `buffer`, cut to `capacity` with its end, and returns how many
 * bytes it has without that end; 0 for a mistake. The members are those of weir's /live: levels, limits, reasons. */
size_t weir_view(weir_throttle throttle, char* buffer, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_H */
