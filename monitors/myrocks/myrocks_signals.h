// MyRocksSignals: computes the signals of a MyRocks from its figures, as the monitor of RocksDB does for a database
// that the program itself has open (lsm_engine.h).
//
// Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "config/clock.h"
#include "monitors/load_sample.h"
#include "monitors/lsm_engine.h"
#include "monitors/myrocks/myrocks_figures.h"

namespace weir {

class MyRocksSignals {
 public:
  explicit MyRocksSignals(Duration sample_interval) : sample_interval_(sample_interval) {}

  // Adds the signals memtables, l0, score and debt, the burst, and how often RocksDB braked since the first Update.
  void Update(TimePoint now, const MyRocksFigures& figures, LoadSample* sample);
  // Makes the next Update compare the count of brakes with none before. Call it for a new connection, which may be to
  // another server.
  void Forget() { compares_ = false; }

 private:
  void Watch(const MyRocksFigures& figures);

  const Duration sample_interval_;
  std::map<std::string, LsmFamily> families_;
  bool compares_ = false;
  LsmEngine engine_;
};

}  // namespace weir
