#include "monitors/myrocks/myrocks_monitor.h"

#include <memory>
#include <string>
#include <utility>

#include "config/wire/mysql/mysql_session.h"
#include "monitors/memory_only_monitor.h"
#include "monitors/myrocks/myrocks_figures.h"
#include "monitors/myrocks/myrocks_signals.h"

namespace weir {
namespace {

constexpr Duration kPauseAfterLoss = std::chrono::seconds(1);
constexpr unsigned kUnknownTable = 1109;
constexpr unsigned kUnknownVariable = 1193;

class MyRocksProbe final : public LoadProbe {
 public:
  MyRocksProbe(MysqlAddress address, uint64_t target_bytes, const MyRocksMonitorSettings& settings,
               const MemoryFiles& files)
      : settings_(settings),
        target_bytes_(target_bytes),
        session_(std::move(address)),
        memory_(files),
        signals_(settings.monitor.sample_interval) {}

  Status ProbeProcess(LoadSample* sample) override {
    const Result<MemoryUse> use = memory_.ReadUse();
    if (use.ok()) AddMemory(use.value(), target_bytes_, settings_.monitor.sample_interval, sample);
    return use.status();
  }

  Status Probe(TimePoint now, LoadSample* sample) override {
    if (!session_.connected() && !lost_.ok() && now < try_again_) return lost_;
    const Result<MyRocksFigures> figures = AskFigures();
    lost_ = figures.status();
    if (figures.ok()) {
      signals_.Update(now, figures.value(), sample);
    } else {
      session_.Close();
      try_again_ = now + kPauseAfterLoss;
    }
    return lost_;
  }

 private:
  // One time-out covers a whole sample, so a caller of Stop waits no longer than that.
  Result<MyRocksFigures> AskFigures() {
    const TimePoint end = Clock::System().Now() + settings_.timeout;
    const auto left = [end] { return end - Clock::System().Now(); };
    if (!session_.connected()) {
      signals_.Forget();
      if (Status connected = session_.Connect(left()); !connected.ok()) return connected;
      // With this limit, a server that stood still drops a query for which the monitor no longer waits.
      const std::string limit = "SET max_statement_time = " + std::to_string(ToSeconds(settings_.timeout));
      if (const auto set = session_.Ask(limit, left()); !set.ok()) return set.status();
    }
    const auto rows = session_.Ask(MyRocksQuestion(), left());
    if (rows.ok()) return ReadMyRocksFigures(rows.value());
    const unsigned number = session_.error_number();
    if (number != kUnknownTable && number != kUnknownVariable) return rows.status();
    return Status::Error(
        "MariaDB: this server has no MyRocks; install mariadb-plugin-rocksdb there, or load its plugin ha_rocksdb");
  }

  const MyRocksMonitorSettings settings_;
  const uint64_t target_bytes_;
  MysqlSession session_;
  MemoryProbe memory_;
  MyRocksSignals signals_;
  Status lost_;
  TimePoint try_again_{};
};

}  // namespace

MyRocksMonitor::MyRocksMonitor(MysqlAddress address, uint64_t target_bytes, const MyRocksMonitorSettings& settings,
                               const Clock& clock, const MemoryFiles& files)
    : LoadMonitor(std::make_unique<MyRocksProbe>(std::move(address), target_bytes, settings, files), settings.monitor,
                  clock) {}

}  // namespace weir
