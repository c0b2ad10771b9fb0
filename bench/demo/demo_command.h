// weir-bench demo: puts the same overload on a real RocksDB twice, first with RocksDB's own brakes alone and then with
// the throttle.
#pragma once

namespace weir {

int DemoCommand(int argc, char** argv);

}  // namespace weir
