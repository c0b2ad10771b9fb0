// Exports of a PostgreSQL that several relays save to.
#include <gtest/gtest.h>

#include <algorithm>

#include "import/export/exporter.h"
#include "relay/store/moment_text.h"
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

TEST(SharedExport, GoesOnFromTheLastSerialOfEachRelay) {
  if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
  const PostgresDatabase database;
  const auto first = MustOpen(database.Options("first"));
  const auto second = MustOpen(database.Options("second"));
  ASSERT_TRUE(first && second);
  uint64_t saved = 0;
  const auto save = [&](PostgresStore& store) {
    const PlainEvent note = Plain(Author(1), ++saved, 1);
    SaveAll(store, {note});
    return note.id;
  };
  std::string at = "0";
  const auto export_new = [&] {
    std::vector<std::string> ids;
    ExportPlan plan;
    plan.after = ParseSerials(at).value();
    const auto exporter = Exporter::Make(*first, plan);
    for (Progress progress = Progress::kMore; progress == Progress::kMore;)
      progress = exporter->Next({}, [&](EventView event) { ids.push_back(ToHex(event.id())); }).value();
    at = ToText(exporter->reached());
    std::ranges::sort(ids);
    return ids;
  };
  std::vector<std::string> expected;
  for (int round = 0; round < 3; ++round) {
    expected = {save(*second), save(*first), save(*second)};
    std::ranges::sort(expected);
    EXPECT_EQ(export_new(), expected);
  }
  EXPECT_TRUE(export_new().empty());
}

}  // namespace
}  // namespace weir
