// One interface over the laws that are compared: when may a write go on, and how long does its caller pause afterwards.
//
//   weir    the real AdaptiveLimiter of throttle/, on virtual time
//   none    nothing; the engine's own brakes alone
//   plan    a delay after every Nth operation from a PID on 0.7 memory + 0.3 load
//   pd      TiKV's flow controller of 2021 (pd_law.cc)
//   spring  FoundationDB's Ratekeeper (spring_law.cc)
//   fixed   a rate for bulk work that was chosen beforehand
//
// plan, pd and spring are models: small, and as faithful as their comments say.
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
  Duration retry_after{};  // if not admitted
};

// How a law treats bulk work now, for the trace.
struct LawView {
  bool open = true;
  double bytes_per_second = 0;  // the limit, when not open
  double drain_bytes_per_second = 0;
  double p = 0;  // the controller's terms, if there are any
  double i = 0;
  double d = 0;
  std::string_view reason = "";
};

class Law {
 public:
  virtual ~Law() = default;

  // Calls `answer` once: at once, or later from Tick or Pump.
  virtual void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) = 0;
  // Returns how long the caller of this write is held once it is done.
  virtual Duration AfterWrite(const WriteRequest&) { return Duration::zero(); }

  // Called after each sample.
  virtual void Tick(const PlantView& plant) = 0;
  // Releases the writes that are due; returns when it has to be called next.
  virtual TimePoint Pump() { return TimePoint::max(); }

  virtual void SetBulkGains(const PidGains&) {}
  virtual LawView View() const = 0;
};

// The parts that a law is built with. The references must outlive the law.
struct LawContext {
  LoadMonitor& monitor;
  const Clock& clock;
  LimiterSettings settings;
  int l0_files_at_setpoint = 0;       // the bulk class's
  double fixed_bytes_per_second = 0;  // for the law "fixed"
};

// Returns the laws that are set side by side: all but "fixed", which needs a rate.
const std::vector<std::string_view>& LawNames();
// Return the value that a law controls: the highest signal that acts on writes, of all or of all but memory.
double ActingLevel(const LoadSample& sample);
double ActingEngineLevel(const LoadSample& sample);

std::unique_ptr<Law> MakeWeirLaw(const LawContext& context);
std::unique_ptr<Law> MakePdLaw(const LawContext& context);
std::unique_ptr<Law> MakeSpringLaw(const LawContext& context);

// Returns nullptr for a name that is not among them.
std::unique_ptr<Law> MakeLaw(std::string_view name, const LawContext& context);
// Returns true if this law is tried with RocksDB's own brakes moved outwards, as are all that take their place.
bool MovesBrakes(std::string_view name);

}  // namespace weir
