// weir-bench <command> …: the experiments on a real RocksDB, apart from the program that operators run.
#include <cstdio>
#include <string_view>

#include "bench/demo/demo_command.h"
#include "bench/storm/storm_command.h"

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "storm") return weir::StormCommand(argc - 1, argv + 1);
  if (command == "demo") return weir::DemoCommand(argc - 1, argv + 1);
  const bool help = command == "--help" || command == "-h" || command == "help";
  std::fputs(
      "usage: weir-bench <command> [flags]; `weir-bench <command> --help` lists its flags\n"
      "\n"
      "  storm      measure the throttle against what RocksDB offers: latency, bulk rate, stalls\n"
      "  demo       overload a RocksDB in a temporary directory, without and with the throttle\n",
      help ? stdout : stderr);
  return help ? 0 : 2;
}
