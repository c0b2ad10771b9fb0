/* weir_rocksdb.h: weir.h for programs that use RocksDB's C API.
 *
 *   weir_rocksdb_source source = {.db = db};
 *   weir_setup_set_options(setup, weir_rocksdb_set_options, &source);
 *   weir_throttle throttle = weir_attach(setup, weir_rocksdb_read, &source);
 *
 * The source must live until weir_detach. The functions are compiled into the program, so weir itself needs no RocksDB.
 */
#ifndef WEIR_ROCKSDB_H
#define WEIR_ROCKSDB_H

#include <rocksdb/c.h>
#include <string.h>
#include <weir.h>

typedef struct weir_rocksdb_source {
  rocksdb_t* db;
  /* Further column families: their names and handles. "default" needs none. */
  size_t family_count;
  const char* const* family_names;
  rocksdb_column_family_handle_t* const* families;
} weir_rocksdb_source;

/* A weir_read whose context is a weir_rocksdb_source. */
static inline int64_t weir_rocksdb_read(void* context, const char* family, const char* property, char* buffer,
                                        size_t capacity) {
  const weir_rocksdb_source* source = (const weir_rocksdb_source*)context;
  char* text = NULL;
  if (strcmp(family, "default") == 0) text = rocksdb_property_value(source->db, property);
  for (size_t i = 0; text == NULL && i < source->family_count; ++i)
    if (strcmp(family, source->family_names[i]) == 0)
      text = rocksdb_property_value_cf(source->db, source->families[i], property);
  if (text == NULL) return -1;
  const size_t length = strlen(text);
  memcpy(buffer, text, length < capacity ? length : capacity);
  rocksdb_free(text);
  return (int64_t)length;
}

/* A weir_set_options whose context is a weir_rocksdb_source. */
static inline int weir_rocksdb_set_options(void* context, const char* family, size_t count, const char* const* names,
                                           const char* const* values) {
  const weir_rocksdb_source* source = (const weir_rocksdb_source*)context;
  char* error = NULL;
  if (strcmp(family, "default") == 0) rocksdb_set_options(source->db, (int)count, names, values, &error);
  for (size_t i = 0; i < source->family_count; ++i)
    if (strcmp(family, source->family_names[i]) == 0)
      rocksdb_set_options_cf(source->db, source->families[i], (int)count, names, values, &error);
  if (error == NULL) return 0;
  rocksdb_free(error);
  return 1;
}

#endif /* WEIR_ROCKSDB_H */
