// Exports of a PostgreSQL that several relays save to.
#include <gtest/gtest.h>

#include <algorithm>

#include "import/export/exporter.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

TEST(SharedExport, ComesToEveryRelayThoughTheFirstOneKeepsSaving) {
  if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
  const PostgresDatabase database;
  const auto first = MustOpen(database.Options("first"));
  const auto second = MustOpen(database.Options("second"));
  ASSERT_TRUE(first && second);
  int saved = 0;
  const auto save = [&](PostgresStore& store, int count) {
    std::vector<PlainEvent> events;
    for (int i = 0; i < count; ++i) events.push_back(Plain(Author(1), 1000, 1, {}, std::to_string(saved++)));
    SaveAll(store, events);
  };
  save(*first, 10);
  save(*second, 4);
  std::vector<std::string> before = StoredIds(*first);
  ASSERT_EQ(before.size(), 14U);
  std::vector<std::string> exported;
  const auto exporter = Exporter::Make(*first, {});
  for (int slices = 0;; ++slices) {
    ASSERT_LT(slices, 200) << "it does not end";
    const auto next =
        exporter->Next({.max_work = kRecordWork}, [&](EventView event) { exported.push_back(ToHex(event.id())); });
    ASSERT_TRUE(next.ok()) << next.status().message();
    if (next.value() == Progress::kDone) break;
    save(*first, 2);
  }
  for (const std::string& id : before) EXPECT_EQ(std::ranges::count(exported, id), 1) << id;
}

}  // namespace
}  // namespace weir
