/* bulk_load.c: a bulk load beside interactive writes on one RocksDB, by its C API, without weir and then with it.
 *
 *   cc bulk_load.c -lweir -lrocksdb -lpthread && ./a.out /tmp/bulk_load.db
 *
 * Prints how much the load wrote, how long the slowest interactive write took, and how often RocksDB was found to slow
 * down or stop writes. Flushes and compactions may write 12 MB/s, as on a slow disk. */
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weir.h>
#include <weir_rocksdb.h>

enum { kValueBytes = 1000, kBatch = 16 };

typedef struct load {
  rocksdb_t* db;
  weir_throttle throttle; /* 0: none */
  atomic_int over;
  uint64_t bulk_bytes;
} load;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Writes a batch of random values under random keys. */
static void write_batch(rocksdb_t* db, int count, unsigned* seed) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  char value[kValueBytes];
  char* error = NULL;
  for (int n = 0; n < count; ++n) {
    const int key = rand_r(seed);
    for (int i = 0; i < kValueBytes; ++i) value[i] = (char)rand_r(seed);
    rocksdb_writebatch_put(batch, (const char*)&key, sizeof key, value, sizeof value);
  }
  rocksdb_write(db, options, batch, &error);
  if (error != NULL) fail("write", error);
  rocksdb_writebatch_destroy(batch);
  rocksdb_writeoptions_destroy(options);
}

static void* write_bulk(void* context) {
  load* l = context;
  unsigned seed = 1;
  while (!l->over) {
    if (l->throttle != 0 &&
        weir_admit(l->throttle, WEIR_WRITE, WEIR_BULK, kBatch * kValueBytes, 1, WEIR_PATIENT) != WEIR_OK)
      continue; /* refused: try again */
    write_batch(l->db, kBatch, &seed);
    l->bulk_bytes += kBatch * kValueBytes;
  }
  return NULL;
}

static rocksdb_options_t* slow_engine(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_write_buffer_size(options, 4 << 20);
  rocksdb_options_set_max_write_buffer_number(options, 4);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 4);
  rocksdb_options_set_level0_slowdown_writes_trigger(options, 12);
  rocksdb_options_set_level0_stop_writes_trigger(options, 20);
  rocksdb_options_set_max_bytes_for_level_base(options, 32 << 20);
  rocksdb_options_set_target_file_size_base(options, 4 << 20);
  rocksdb_ratelimiter_t* limiter = rocksdb_ratelimiter_create(12 << 20, 100 * 1000, 10);
  rocksdb_options_set_ratelimiter(options, limiter);
  rocksdb_ratelimiter_destroy(limiter);
  return options;
}

static void run(const char* directory, int with_weir, double duration) {
  char* error = NULL;
  rocksdb_options_t* options = slow_engine();
  rocksdb_destroy_db(options, directory, &error);
  if (error != NULL) fail(directory, error);
  load l = {.db = rocksdb_open(options, directory, &error)};
  if (error != NULL) fail(directory, error);
  weir_rocksdb_source source = {.db = l.db};
  if (with_weir) {
    const weir_setup setup = weir_setup_create();
    weir_setup_directory(setup, directory);
    weir_setup_set_options(setup, weir_rocksdb_set_options, &source);
    l.throttle = weir_attach(setup, weir_rocksdb_read, &source);
    if (l.throttle == 0) fail("weir", weir_error());
    weir_setup_destroy(setup);
  }
  pthread_t bulk;
  pthread_create(&bulk, NULL, write_bulk, &l);
  double slowest = 0;
  int brakes = 0, refused = 0;
  unsigned seed = 2;
  for (const double begin = seconds(); seconds() - begin < duration;) {
    const double asked = seconds();
    if (l.throttle != 0 &&
        weir_admit(l.throttle, WEIR_WRITE, WEIR_INTERACTIVE, kValueBytes, 2, WEIR_PATIENT) != WEIR_OK)
      ++refused;
    else
      write_batch(l.db, 1, &seed);
    if (seconds() - asked > slowest) slowest = seconds() - asked;
    uint64_t stopped = 0, delayed = 0;
    rocksdb_property_int(l.db, "rocksdb.is-write-stopped", &stopped);
    rocksdb_property_int(l.db, "rocksdb.actual-delayed-write-rate", &delayed);
    brakes += stopped > 0 || delayed > 0;
    nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
  }
  l.over = 1;
  pthread_join(bulk, NULL);
  printf("%s weir: bulk %.1f MB/s, slowest interactive write %.0f ms, %d refused, RocksDB braked %d times\n",
         with_weir ? "with" : "without", 1e-6 * (double)l.bulk_bytes / duration, 1e3 * slowest, refused, brakes);
  if (l.throttle != 0) weir_close(l.throttle);
  rocksdb_close(l.db);
  rocksdb_destroy_db(options, directory, &error);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s DIRECTORY [SECONDS]\n", argv[0]);
    return 2;
  }
  const double duration = argc > 2 ? atof(argv[2]) : 20;
  run(argv[1], 0, duration);
  run(argv[1], 1, duration);
  return 0;
}
