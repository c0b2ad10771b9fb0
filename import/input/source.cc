#include "import/input/source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <utility>

#include "import/input/decoder.h"
#include "import/input/input_file.h"

namespace weir {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kSniffBytes = 4;
// Whole lines of a stream wait this long, in milliseconds, for more bytes to fill their chunk.
constexpr int kPatienceMs = 100;

class InputSource final : public Source {
 public:
  InputSource(const SourceOptions& options, const std::string& expected_tail)
      : options_(options), expected_tail_(expected_tail), input_(options.first_input), buffer_(kReadBytes) {}

  // Called by Open.
  Status Begin();

  Result<std::optional<Chunk>> Next() override;
  void Stop() override {
    stopped_ = true;
    wake_up_.Call();
  }
  uint64_t total_bytes() const override { return all_known_ ? bytes_before_.back() : 0; }
  uint64_t bytes_before(size_t input) const override { return bytes_before_[input]; }
  uint64_t first_file_bytes() const override { return first_file_bytes_; }
  size_t input() const override { return input_; }
  const std::string& first_tail() const override { return skipped_.bytes(); }

 private:
  std::string Name() const { return InputFile::NameOf(options_.inputs[input_]); }
  Status OpenInput();
  Status SkipInFile();
  Status CheckTail() const;
  void ReadMore();
  void AtEnd();
  void MakeDecoder();
  void DecodeMore();
  void Decoded(std::string_view bytes);
  void Fail(const std::string& what, const Status& status);

  const SourceOptions options_;
  const std::string expected_tail_;
  std::vector<uint64_t> bytes_before_{0};  // bytes on disk before each input; the last element is the sum of all
  bool all_known_ = true;
  uint64_t first_file_bytes_ = 0;
  WakeUp wake_up_;
  std::atomic<bool> stopped_ = false;

  size_t input_;
  std::unique_ptr<InputFile> file_;   // the input number input_; null: not opened
  std::unique_ptr<Decoder> decoder_;  // null: the first bytes were not read yet
  std::unique_ptr<LineSplitter> splitter_;
  std::string head_;   // first bytes of the input
  uint64_t skip_ = 0;  // bytes that an earlier run imported and that still have to be skipped
  Tail skipped_;
  std::vector<char> buffer_;
  std::string_view undecoded_;  // a part of the buffer or of head_
  uint64_t file_bytes_ = 0;
  bool patient_ = false;  // true if the splitter holds no whole line, so the next Read may wait without limit

  std::deque<Chunk> chunks_;
  Status error_;
  const LineSplitter::OnChunk keep_ = [this](Chunk chunk) { chunks_.push_back(std::move(chunk)); };
};

Status InputSource::Begin() {
  for (size_t i = 0; i < options_.inputs.size(); ++i) {
    Result<std::optional<uint64_t>> size = InputFile::Look(options_.inputs[i]);
    if (!size.ok()) {
      if (i >= options_.first_input) return size.status();
      size = std::optional<uint64_t>(0);  // an earlier run imported it
    }
    all_known_ = all_known_ && size.value().has_value();
    bytes_before_.push_back(bytes_before_.back() + size.value().value_or(0));
  }
  return input_ < options_.inputs.size() ? OpenInput() : Status();
}

Status InputSource::OpenInput() {
  Result<std::unique_ptr<InputFile>> opened = InputFile::Open(options_.inputs[input_]);
  if (!opened.ok()) return opened.status();
  file_ = std::move(opened).value();
  const Place begin = input_ == options_.first_input ? options_.first_place : Place{};
  splitter_ = std::make_unique<LineSplitter>(options_.limits, static_cast<uint32_t>(input_), begin);
  skip_ = begin.bytes;
  decoder_.reset();
  head_.clear();
  file_bytes_ = 0;
  patient_ = true;
  return skip_ > 0 && file_->can_seek() ? SkipInFile() : Status();
}

// Seeks to the place to begin at, if the file is plain.
Status InputSource::SkipInFile() {
  const Result<std::string> first = file_->ReadAt(0, kSniffBytes);
  if (!first.ok()) return Status::Error(Name() + " " + first.status().message());
  if (CompressionOf(first.value()) != Compression::kNone) return {};
  const uint64_t size = std::min<uint64_t>(skip_, kTailBytes);
  const Result<std::string> before = file_->ReadAt(skip_ - size, size);
  if (!before.ok()) return Status::Error(Name() + " " + before.status().message());
  skipped_.Add(before.value());
  if (Status same = CheckTail(); !same.ok()) return same;
  if (Status moved = file_->Seek(skip_); !moved.ok()) return Status::Error(Name() + " " + moved.message());
  MakeDecoder();
  file_bytes_ = first_file_bytes_ = std::exchange(skip_, 0);
  return {};
}

Status InputSource::CheckTail() const {
  const size_t least = std::min<uint64_t>(options_.first_place.bytes, kTailBytes);
  if (skipped_.bytes().size() >= least && (expected_tail_.empty() || skipped_.Hex() == expected_tail_)) return {};
  return Status::Error(Name() + " is not what it was when the import stopped (its bytes before line " +
                       std::to_string(options_.first_place.lines + 1) +
                       " differ); start anew without --resume: what is stored already is passed over");
}

Result<std::optional<Chunk>> InputSource::Next() {
  while (!stopped_) {
    if (!chunks_.empty()) {
      std::optional<Chunk> chunk(std::move(chunks_.front()));
      chunks_.pop_front();
      return chunk;
    }
    if (!error_.ok()) return error_;
    if (!undecoded_.empty()) {
      DecodeMore();
    } else if (file_ != nullptr) {
      ReadMore();
    } else if (input_ < options_.inputs.size()) {
      error_ = OpenInput();
    } else {
      break;
    }
  }
  return std::optional<Chunk>();
}

void InputSource::ReadMore() {
  using What = InputFile::Got::What;
  const Result<InputFile::Got> got = file_->Read(buffer_, wake_up_, patient_ ? -1 : kPatienceMs);
  if (!got.ok()) return Fail("cannot go on", got.status());
  switch (got.value().what) {
    case What::kWoken:
      return;
    case What::kNothingYet:
      splitter_->Flush(keep_);
      patient_ = true;
      return;
    case What::kEnd:
      return AtEnd();
    case What::kBytes:
      break;
  }
  file_bytes_ += got.value().size;
  patient_ = false;
  undecoded_ = {buffer_.data(), got.value().size};
  if (decoder_ != nullptr) return;
  head_.append(undecoded_);
  undecoded_ = {};
  if (head_.size() < kSniffBytes) return;
  MakeDecoder();
  undecoded_ = head_;
}

void InputSource::MakeDecoder() { decoder_ = Decoder::Make(CompressionOf(head_)); }

void InputSource::DecodeMore() {
  while (!undecoded_.empty() && chunks_.empty() && error_.ok()) {
    const Result<size_t> taken =
        decoder_->Add(undecoded_, kReadBytes, [this](std::string_view bytes) { Decoded(bytes); });
    undecoded_.remove_prefix(taken.ok() ? taken.value() : undecoded_.size());
    if (error_.ok() && !taken.ok()) Fail("damaged", taken.status());
  }
}

void InputSource::Decoded(std::string_view bytes) {
  if (skip_ > 0) {
    const auto old = static_cast<size_t>(std::min<uint64_t>(skip_, bytes.size()));
    skipped_.Add(bytes.substr(0, old));
    bytes.remove_prefix(old);
    skip_ -= old;
    if (skip_ > 0) return;
    error_ = CheckTail();
  }
  if (error_.ok()) splitter_->Add(bytes, file_bytes_, keep_);
}

void InputSource::AtEnd() {
  if (decoder_ == nullptr) {  // the input has fewer than kSniffBytes bytes
    MakeDecoder();
    const Result<size_t> taken = decoder_->Add(head_, kReadBytes, [this](std::string_view bytes) { Decoded(bytes); });
    if (error_.ok() && !taken.ok()) return Fail("damaged", taken.status());
  }
  if (const Status ended = decoder_->End(); !ended.ok()) return Fail("damaged", ended);
  if (skip_ > 0) error_ = CheckTail();
  if (!error_.ok()) return;
  splitter_->End(keep_);
  file_.reset();
  ++input_;
}

// Does not pass on an incomplete line, because the import would judge it as if it were whole.
void InputSource::Fail(const std::string& what, const Status& status) {
  splitter_->Flush(keep_);
  const uint64_t lines = splitter_->place().lines;
  std::string message = Name() + ": " + what + " after line " + std::to_string(lines) + ": " + status.message();
  if (splitter_->unfinished()) message += "; line " + std::to_string(lines + 1) + " is incomplete and not imported";
  error_ = Status::Error(std::move(message));
}

}  // namespace

Result<std::unique_ptr<Source>> Source::Open(const SourceOptions& options, const std::string& expected_tail) {
  auto source = std::make_unique<InputSource>(options, expected_tail);
  if (Status begun = source->Begin(); !begun.ok()) return begun;
  return std::unique_ptr<Source>(std::move(source));
}

}  // namespace weir
