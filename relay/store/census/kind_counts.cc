#include "relay/store/census/kind_counts.h"

#include <algorithm>

namespace weir {

void AddKind(const KindCounts& counts, const Sample& sample, Census* census) {
  const uint64_t population = counts.events();
  const Amount amount = sample.Of(population, population);
  census->kinds.push_back({counts.kind(), amount});
  census->all += amount;
  census->sampled += sample.size();
  for (const auto& [month, events] : counts.months()) census->months[month] += sample.Of(events, population);
  census->matched += sample.Of(counts.matched(), population);
}

void FinishKinds(Census* census) {
  census->price = Price::Of(census->all, census->disk.events, census->disk.index);
  std::ranges::sort(census->kinds, [&](const Census::OfKind& a, const Census::OfKind& b) {
    return census->price.DiskBytes(a.amount) > census->price.DiskBytes(b.amount);
  });
}

void KeepLargestAuthors(size_t most, Census* census) {
  std::ranges::sort(census->authors, [&](const Census::OfAuthor& a, const Census::OfAuthor& b) {
    return census->price.DiskBytes(a.amount) > census->price.DiskBytes(b.amount);
  });
  if (census->authors.size() > most) census->authors.resize(most);
}

}  // namespace weir
