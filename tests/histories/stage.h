// Stage: the relays of a run, as processes, and their store: a RocksDB of one relay, or a PostgreSQL of three, with a
// standby, and NOTIFY or a Redis as their bus. Its nemeses disturb them, and return when the relays and the store run
// again.
//
// Not thread-safe. The kernel ends the processes when the thread that made the stage ends.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/temporary_directory.h"
#include "bench/relay/launch.h"
#include "tests/fixtures/postgres_process.h"
#include "tests/fixtures/redis_process.h"
#include "tests/histories/recorder.h"

namespace weir::histories {

class Stage {
 public:
  enum class Scene : uint8_t { kRocksDb, kNotify, kRedis };  // the last two are buses of a PostgreSQL

  // The recorder must outlive the stage.
  static Result<std::unique_ptr<Stage>> Start(const std::filesystem::path& program, Scene scene, Recorder& recorder);

  std::vector<uint16_t> ports() const;

  // Lets a nemesis strike, each in turn, in an order of chance, and records when. `left` is the rest of the run: a
  // nemesis that takes more than a third of it does not strike.
  Status Strike(std::mt19937_64& random, Time left);
  const std::map<std::string, size_t>& strikes() const { return strikes_; }

  // Records the serials that the origins gave lately, or, if they are wanted, of all stored events.
  void RecordSerials(bool all);
  // Strikes behind the relays' back (Planted::kLose, kRestore).
  void LoseRows();
  void RestoreRows();

 private:
  struct Nemesis;

  Stage(std::filesystem::path program, Scene scene, Recorder& recorder)
      : program_(std::move(program)), scene_(scene), recorder_(recorder) {}
  static const std::vector<Nemesis>& Nemeses();
  Status Launch(size_t relay);
  Status KillRelay(size_t relay);
  Status StopRelay(size_t relay, Time time) const;
  Status MoveClock(size_t relay);
  void SetClock(size_t relay, std::chrono::seconds ahead) const;
  // Returns the file from which the relay's clock is moved (moved_clock.cc).
  std::filesystem::path ClockOf(size_t relay) const { return directory_->path() / ("clock" + std::to_string(relay)); }
  // Terminates the connections by which the relays LISTEN.
  Status CutListen() const;
  Status StopRedis();
  Status KillRedis();
  // Ends the connections by which the relays SUBSCRIBE.
  Status CutSubscribers();
  // Locks the events, so that each connection of the relays that reads or saves waits.
  Status ExhaustPool(Time time) const;
  Status Promote();
  std::string Ask(const std::string& sql) const { return (standby_ ? *primary_ : *promoted_).Ask(sql); }

  const std::filesystem::path program_;
  const Scene scene_;
  Recorder& recorder_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<PostgresProcess> primary_;   // null once it was killed
  std::unique_ptr<PostgresProcess> standby_;   // null once it was promoted
  std::unique_ptr<PostgresProcess> promoted_;  // null before
  std::unique_ptr<RedisProcess> redis_;        // null unless it is the bus
  std::string store_ = "rocksdb";
  std::vector<RunningRelay> relays_;
  std::vector<size_t> clock_moves_;      // the number of times that each relay's clock was moved
  std::vector<const Nemesis*> waiting_;  // the nemeses that have not struck in this round
  std::map<std::string, size_t> strikes_;
  std::set<std::string> serials_;
};

}  // namespace weir::histories
