#include "relay/account/heavy_takers.h"

#include <algorithm>

namespace weir {

void HeavyTakers::Add(uint64_t key, uint64_t group, Work work) {
  Taker* place = takers_.data();
  for (Taker& taker : takers_) {
    if (taker.key == key && taker.work > 0) {
      taker.work += static_cast<double>(work);
      return;
    }
    if (taker.work < place->work) place = &taker;
  }
  *place = {key, group, place->work + static_cast<double>(work)};
}

void HeavyTakers::Fade(double share) {
  for (Taker& taker : takers_) {
    taker.work *= share;
    if (taker.work < 1) taker = {};
  }
}

std::vector<HeavyTakers::Taker> HeavyTakers::Heaviest() const {
  std::vector<Taker> heaviest;
  for (const Taker& taker : takers_)
    if (taker.work > 0) heaviest.push_back(taker);
  std::ranges::sort(heaviest, std::greater<>(), &Taker::work);
  return heaviest;
}

}  // namespace weir
