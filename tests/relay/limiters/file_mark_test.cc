// When a file is read that others write.
#include "relay/limiters/file_mark.h"

#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

TEST(FileWatch, AFileIsReadWhenItRests) {
  const ConfigDirectory directory;
  const std::string path = directory.Write("weir.yaml", "a");
  FileWatch watch(path);
  EXPECT_FALSE(watch.Look()) << "seen for the first time";
  EXPECT_TRUE(watch.Look());
  EXPECT_TRUE(watch.ReadWhole([] {}));
  EXPECT_FALSE(watch.Look()) << "nothing is new";
  for (const char* text : {"", "q", "qu", "quo"}) {
    WriteText(directory / "weir.yaml", text);
    EXPECT_FALSE(watch.Look()) << "\"" << text << "\": it is being written";
  }
  EXPECT_TRUE(watch.Look());
}

TEST(FileWatch, WhatChangesWhileItIsReadIsReadAgain) {
  const ConfigDirectory directory;
  FileWatch watch(directory.Write("weir.yaml", "a"));
  EXPECT_FALSE(watch.ReadWhole([&] { WriteText(directory / "weir.yaml", "half of"); }));
  watch.Look();
  EXPECT_TRUE(watch.Look());
  EXPECT_TRUE(watch.ReadWhole([] {}));
  EXPECT_FALSE(watch.ReadWhole([&] { directory.Write("weir.yaml", "half of"); })) << "another file of that name";
}

TEST(FileWatch, AFileThatGoesIsAChange) {
  const ConfigDirectory directory;
  const std::string path = directory.Write("weir.yaml", "a");
  FileWatch watch(path);
  EXPECT_TRUE(watch.ReadWhole([] {}));
  watch.Look();
  std::filesystem::remove(path);
  EXPECT_FALSE(watch.Look());
  EXPECT_TRUE(watch.Look());
}

}  // namespace
}  // namespace weir
