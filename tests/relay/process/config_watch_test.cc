// The moments at which a file is read that other programs write.
#include "relay/process/config_watch.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

TEST(FileWatch, AFileIsReadWhenItRests) {
  const TempDirectory directory;
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

TEST(FileWatch, ReadsAFileAgainThatChangedWhileItWasRead) {
  const TempDirectory directory;
  FileWatch watch(directory.Write("weir.yaml", "a"));
  EXPECT_FALSE(watch.ReadWhole([&] { WriteText(directory / "weir.yaml", "half of"); }));
  watch.Look();
  EXPECT_TRUE(watch.Look());
  EXPECT_TRUE(watch.ReadWhole([] {}));
  EXPECT_FALSE(watch.ReadWhole([&] { directory.Write("weir.yaml", "half of"); })) << "another file of that name";
}

TEST(FileWatch, AFileThatGoesIsAChange) {
  const TempDirectory directory;
  const std::string path = directory.Write("weir.yaml", "a");
  FileWatch watch(path);
  EXPECT_TRUE(watch.ReadWhole([] {}));
  watch.Look();
  std::filesystem::remove(path);
  EXPECT_FALSE(watch.Look());
  EXPECT_TRUE(watch.Look());
}

TEST(FileWatch, SeveralFilesAreReadWhenAllOfThemRest) {
  const TempDirectory directory;
  FileWatch watch({directory.Write("a", "1"), directory.Write("b", "1")});
  EXPECT_TRUE(watch.ReadWhole([] {}));
  watch.Look();
  directory.Write("a", "22");
  EXPECT_FALSE(watch.Look());
  directory.Write("b", "22");
  EXPECT_FALSE(watch.Look()) << "the other one follows";
  EXPECT_TRUE(watch.Look());
  EXPECT_FALSE(watch.ReadWhole([&] { directory.Write("b", "333"); }));
}

}  // namespace
}  // namespace weir
