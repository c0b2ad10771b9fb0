#include "bench/relay/measured_relay.h"

#include <utility>

#include "bench/relay/loop.h"

namespace weir {

namespace fs = std::filesystem;

MeasuredRelay::MeasuredRelay(Contender server, std::string import, fs::path dir)
    : server_(std::move(server)), import_(std::move(import)), dir_(std::move(dir)) {}

Result<CommandCost> MeasuredRelay::Import(const fs::path& file) const {
  std::error_code error;
  if (fs::create_directories(db(), error); error)
    return Status::Error("cannot make " + db().string() + ": " + error.message());
  const auto process = Process::Start(
      FillIn(ExpandCommand(import_, 0, dir_, db()), {{"{file}", fs::absolute(file).string()}}), dir_ / "import.log");
  if (!process.ok()) return process.status();
  if (Status s = process.value()->Wait(); !s.ok()) return s;
  return process.value()->Cost();
}

Result<Duration> MeasuredRelay::Start(uint64_t memory_mb) {
  const TimePoint begin = Loop::Now();
  auto relay = Launch(FillIn(server_.command, {{kMemoryPlace, std::to_string(memory_mb)}}), dir_, db(), std::nullopt);
  if (!relay.ok()) return relay.status();
  relay_ = std::move(relay).value();
  return Loop::Now() - begin;
}

Status MeasuredRelay::Stop() {
  if (relay_.process == nullptr) return Status();
  if (Status s = relay_.process->Stop(); !s.ok()) return s;
  relay_.process.reset();  // or the error of a later start would be explained by this end
  return Status();
}

Status MeasuredRelay::Explain(const Status& error) {
  return Status::Error(name() + ": " + WithFate(error, &relay_).message());
}

}  // namespace weir
