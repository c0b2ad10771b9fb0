// Plant: a fault that is planted between the relays and the recorder, or into the database behind the relays' back, to
// show that the checker finds it. At most one is planted in a run.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include "tests/histories/checker.h"

namespace weir::histories {

enum class Planted : uint8_t {
  kDrop,     // the client does not see some live events
  kRepeat,   // the client sees some live events twice
  kForge,    // some events never reach the relay, and the client sees an OK for them
  kSwallow,  // the client does not see some EOSE
  kLose,     // saved rows are deleted from PostgreSQL
  kRestore,  // the rows of deleted events are put back into PostgreSQL
  kNone,
};

struct PlantKind {
  std::string_view name;
  Violation found_as;
};
// In the order of Planted.
inline constexpr std::array kPlants = {PlantKind{"drop", Violation::kLost},  PlantKind{"repeat", Violation::kTwice},
                                       PlantKind{"forge", Violation::kLost}, PlantKind{"swallow", Violation::kSilent},
                                       PlantKind{"lose", Violation::kLost},  PlantKind{"restore", Violation::kUndone}};

// Thread-safe.
class Plant {
 public:
  explicit Plant(Planted planted) : planted_(planted) {}

  bool is(Planted planted) const { return planted_ == planted; }
  // Returns true if this is the fault, and it strikes now, as it does each tenth time.
  bool Strikes(Planted planted) { return is(planted) && ++chances_ % 10 == 0; }

 private:
  const Planted planted_;
  std::atomic<uint64_t> chances_{0};
};

}  // namespace weir::histories
