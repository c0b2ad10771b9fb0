#include "import/export/encoder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <random>

#include "tests/fixtures/file_size_limit.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

// Returns the text of a gzip file.
std::string Gunzip(const std::string& path) {
  std::string text;
  char buffer[64 << 10];
  const gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr);
  for (int got = 1; got > 0;) {
    got = gzread(file, buffer, sizeof(buffer));
    EXPECT_GE(got, 0);
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_EQ(gzclose(file), Z_OK);
  return text;
}

std::string Unzstd(const std::string& path, size_t size) {
  const std::string bytes = TextOf(path);
  std::string text(size + 1, '\0');
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  const size_t got = ZSTD_decompressDCtx(context.get(), text.data(), text.size(), bytes.data(), bytes.size());
  EXPECT_EQ(ZSTD_isError(got), 0u) << ZSTD_getErrorName(got);
  text.resize(ZSTD_isError(got) != 0 ? 0 : got);
  return text;
}

// Returns text that hardly compresses, so that much is written.
std::string Noise(size_t size) {
  std::mt19937_64 random(size);
  std::string text;
  while (text.size() < size) text += std::to_string(random()) + "\n";
  text.resize(size);
  return text;
}

std::unique_ptr<Encoder> MustCreate(const std::string& name) {
  Result<std::unique_ptr<Encoder>> encoder = Encoder::Create(name);
  EXPECT_TRUE(encoder.ok()) << encoder.status().message();
  return encoder.ok() ? std::move(encoder).value() : nullptr;
}

Status WriteAll(Encoder& encoder, std::string_view text, size_t piece) {
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (Status written = encoder.Write(text.substr(0, piece)); !written.ok()) return written;
  }
  return {};
}

TEST(Encoder, WritesWhatItsReaderGetsBack) {
  const TempDirectory directory;
  for (const std::string name : {"a.jsonl", "a.jsonl.gz", "a.jsonl.zst"}) {
    for (const auto& [size, piece] : {std::pair<size_t, size_t>{0, 1},
                                      {1, 1},
                                      {5000, 7},
                                      {256 << 10, 256 << 10},
                                      {3'000'000, 1'000'003},
                                      {2'000'000, 700}}) {
      const std::string path = directory / name;
      const std::string text = Noise(size);
      const auto encoder = MustCreate(path);
      ASSERT_NE(encoder, nullptr);
      ASSERT_TRUE(WriteAll(*encoder, text, piece).ok());
      const Status finished = encoder->Finish();
      ASSERT_TRUE(finished.ok()) << finished.message();
      EXPECT_EQ(encoder->bytes_taken(), size);
      const std::string read = name.ends_with(".gz")    ? Gunzip(path)
                               : name.ends_with(".zst") ? Unzstd(path, size)
                                                        : TextOf(path);
      EXPECT_TRUE(read == text) << name << " of " << size << " bytes has " << read.size();
      EXPECT_FALSE(std::filesystem::exists(path + ".part"));
    }
  }
}

TEST(Encoder, LeavesTheFileAsItWasUntilItIsFinished) {
  const TempDirectory directory;
  const std::string path = directory / "a.jsonl";
  WriteText(path, "before");
  WriteText(path + ".part", "of a run that was killed");
  {
    const auto encoder = MustCreate(path);
    ASSERT_TRUE(WriteAll(*encoder, Noise(1'000'000), 1000).ok());
    EXPECT_EQ(TextOf(path), "before");
    EXPECT_TRUE(std::filesystem::exists(path + ".part"));
  }
  EXPECT_EQ(TextOf(path), "before");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(Encoder, FollowsALink) {
  const TempDirectory directory;
  WriteText(directory / "real", "before");
  std::filesystem::create_symlink("real", directory / "link");
  const auto encoder = MustCreate(directory / "link");
  ASSERT_TRUE(encoder->Write("after").ok());
  ASSERT_TRUE(encoder->Finish().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(TextOf(directory / "real"), "after");
}

TEST(Encoder, LeavesADeviceWhatItIs) {
  const auto encoder = MustCreate("/dev/null");
  ASSERT_TRUE(encoder->Write("gone").ok());
  ASSERT_TRUE(encoder->Finish().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_FALSE(std::filesystem::exists("/dev/null.part"));
}

TEST(Encoder, TellsThatTheDiskIsFull) {
  const auto encoder = MustCreate("/dev/full");
  const Status status = WriteAll(*encoder, Noise(1'000'000), 1000);
  EXPECT_EQ(status.message(), "cannot write /dev/full: No space left on device");
  EXPECT_FALSE(encoder->reader_gone());
}

TEST(Encoder, LeavesNoFileWhenItCannotWriteAll) {
  const TempDirectory directory;
  for (const std::string name : {"a.jsonl", "a.jsonl.gz", "a.jsonl.zst"}) {
    Status status;
    {
      const FileSizeLimit limit(1 << 20);
      const auto encoder = MustCreate(directory / name);
      status = WriteAll(*encoder, Noise(5'000'000), 1000);
      if (status.ok()) status = encoder->Finish();
    }
    EXPECT_EQ(status.message(), "cannot write " + (directory / name) + ".part: File too large");
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Encoder, KnowsThatItsReaderHasGone) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto encoder = MustCreate("/dev/fd/" + std::to_string(ends[1]));
  ASSERT_NE(encoder, nullptr);
  close(ends[0]);
  const Status status = WriteAll(*encoder, Noise(1'000'000), 1000);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(encoder->reader_gone());
  close(ends[1]);
  sigaction(SIGPIPE, &before, nullptr);
}

TEST(Encoder, TellsWhereItCannotWrite) {
  const TempDirectory directory;
  EXPECT_EQ(Encoder::Create(directory / "no/a.jsonl").status().message(),
            "cannot write " + (directory / "no/a.jsonl.part") + ": No such file or directory");
  EXPECT_NE(Encoder::Create(directory.path()).status().message().find("Is a directory"), std::string::npos);
}

// Two encoders at once write to the same name: neither takes the other's half for its whole.
TEST(Encoder, TwoEncodersDoNotMixTheirParts) {
  const TempDirectory directory;
  const std::string path = directory / "a.jsonl";
  const auto first = MustCreate(path);
  ASSERT_TRUE(first->Write("first").ok());
  const auto second = MustCreate(path);
  ASSERT_TRUE(second->Write("second").ok());
  EXPECT_NE(first->Finish().message().find("another program"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(second->Finish().ok());
  EXPECT_EQ(TextOf(path), "second");
}

}  // namespace
}  // namespace weir
