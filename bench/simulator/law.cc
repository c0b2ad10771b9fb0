#include "bench/simulator/law.h"

#include "bench/simulator/pd_law.h"
#include "bench/simulator/plan_law.h"
#include "bench/simulator/spring_law.h"
#include "bench/simulator/weir_law.h"

namespace weir {
namespace {

class NoLaw final : public Law {
 public:
  void Admit(const WriteRequest&, std::function<void(LawAnswer)> answer) override { answer({}); }
  void Tick(const PlantView&) override {}
  LawView View() const override { return {}; }
};

}  // namespace

const std::vector<std::string_view>& LawNames() {
  static const std::vector<std::string_view> kNames = {"weir", "none", "plan", "pd", "spring"};
  return kNames;
}

std::unique_ptr<Law> MakeLaw(std::string_view name, const LawContext& context) {
  if (name == "weir") return std::make_unique<WeirLaw>(context);
  if (name == "none") return std::make_unique<NoLaw>();
  if (name == "plan") return std::make_unique<PlanLaw>(context);
  if (name == "pd") return std::make_unique<PdLaw>(context);
  if (name == "spring") return std::make_unique<SpringLaw>(context);
  return nullptr;
}

// The plan does nothing to the engine's triggers. TiKV's controller was there to take the place of write stalls, and
// FoundationDB's storage has none.
bool MovesBrakes(std::string_view name) { return name != "none" && name != "plan"; }

}  // namespace weir
