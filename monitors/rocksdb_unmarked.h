// Options that a weir without the mark (rocksdb_mark.h) prepared, and that RocksDB stored. At each start that weir
// moved their brakes once more.
#pragma once

#include "rocksdb/options.h"

namespace weir {

// Takes the changes of such a weir back, if they can be recognised: the limits of debt are RocksDB's defaults times
// eight, once or several times, and the other brakes are exactly what as many preparations make of whole numbers. (A
// program hardly sets such limits, 512 GiB and 2 TiB, itself. If it does, some figures of its other brakes look as if
// they were moved: 20 and 40 files become 40 and 60 with a trigger of 10.) Of two sets of options that lead to the same
// result it takes the one without merged flushes, RocksDB's default. Returns false, and changes nothing, for any other
// options, and for options with a mark.
bool TakeBackUnmarked(rocksdb::ColumnFamilyOptions* options);

}  // namespace weir
