// weir-bench storm: the experiment that would refute the throttle. The same overload of a real RocksDB under each
// policy.
#pragma once

namespace weir {

int StormCommand(int argc, char** argv);

}  // namespace weir
