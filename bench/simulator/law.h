// Law: the interface of the control laws that the simulator compares. A law decides when a write may begin, and how
// long the caller pauses after it.
//
//   weir    the real AdaptiveLimiter of throttle/, on virtual time
//   none    no law; only the engine's own brakes
//   plan    after every Nth operation a delay, which a PID computes from 0.7 memory + 0.3 load
//   pd      TiKV's flow controller of 2021 (pd_law.cc)
//   spring  FoundationDB's Ratekeeper (spring_law.cc)
//   fixed   a fixed rate for bulk work
//
// plan, pd and spring are small models of the originals; the comments in their files say how faithful they are.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/simulator/plant.h"
#include "monitors/load_monitor.h"
#include "throttle/admission.h"
#include "throttle/limiter_settings.h"

namespace weir {

struct WriteRequest {
  uint64_t bytes = 0;
  WorkClass work_class = WorkClass::kBulk;
  uint64_t party = 0;
};

struct LawAnswer {
  bool admitted = true;
  Duration retry_after{};  // when to ask again, if not admitted
};

// The present state of a law for bulk work, for the output of the simulator.
struct LawView {
  bool open = true;             // true if bulk work has no limit
  double bytes_per_second = 0;  // the limit, if not open
  double drain_bytes_per_second = 0;
  double p = 0;  // the three terms of the controller, if the law has one
  double i = 0;
  double d = 0;
  std::string_view reason = "";
};

class Law {
 public:
  virtual ~Law() = default;

  // Decides about a write. Calls `answer` once, either before Admit returns or later, from Tick or Pump.
  virtual void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) = 0;
  // Returns how long the caller must pause after this write.
  virtual Duration AfterWrite(const WriteRequest&) { return Duration::zero(); }

  // The simulation calls Tick after each sample of the load.
  virtual void Tick(const PlantView& plant) = 0;
  // Admits the writes that are due. Returns the time at which the simulation has to call Pump again.
  virtual TimePoint Pump() { return TimePoint::max(); }

  virtual void SetBulkGains(const PidGains&) {}
  virtual LawView View() const = 0;
};

// The arguments with which a law is made. The references must outlive the law.
struct LawContext {
  LoadMonitor& monitor;
  const Clock& clock;
  LimiterSettings settings;
  int l0_files_at_setpoint = 0;       // number of L0 files at the setpoint of bulk work
  double fixed_bytes_per_second = 0;  // the rate of the law "fixed"
};

// Returns the names of the laws that are compared: all except "fixed", which needs a rate.
const std::vector<std::string_view>& LawNames();
// These return levels that laws act on. ActingLevel returns the highest level of the signals that act on writes.
// ActingEngineLevel does the same without the signal `memory`.
double ActingLevel(const LoadSample& sample);
double ActingEngineLevel(const LoadSample& sample);

std::unique_ptr<Law> MakeWeirLaw(const LawContext& context);
std::unique_ptr<Law> MakePdLaw(const LawContext& context);
std::unique_ptr<Law> MakeSpringLaw(const LawContext& context);

// Returns the law with this name; nullptr if there is none.
std::unique_ptr<Law> MakeLaw(std::string_view name, const LawContext& context);
// Returns true if the simulation raises the thresholds of RocksDB's own brakes for this law, because the law replaces
// these brakes.
bool MovesBrakes(std::string_view name);

}  // namespace weir
