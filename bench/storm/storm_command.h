// weir-bench storm: the experiment that could show that the throttle does not work. It puts the same overload on a real
// RocksDB under each policy.
#pragma once

namespace weir {

int StormCommand(int argc, char** argv);

}  // namespace weir
