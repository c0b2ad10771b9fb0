#include "config/text/json_writer.h"
#include "config/text/readable.h"
#include "relay/nostr/npub.h"
#include "relay/store/census/census.h"

namespace weir {
namespace {

constexpr int kDigits = 4;

class CensusWriter {
 public:
  explicit CensusWriter(const Census& census) : census_(census) {}

  std::string Text() && {
    json_.Open('{');
    json_.Member("at").Number(census_.at_seconds);
    json_.Member("events").Number(census_.all.events);
    json_.Member("sampled").Number(census_.sampled);
    WriteDisk();
    WriteGrowth();
    Each("kinds", census_.kinds, [this](const Census::OfKind& each) {
      json_.Member("kind").Number(each.kind);
      WriteAmount(each.amount);
    });
    Each("months", census_.months, [this](const auto& each) {
      json_.Member("month").String(MonthName(each.first));
      WriteAmount(each.second);
    });
    Each("days", census_.days, [this](const auto& each) {
      json_.Member("day").String(DayName(each.first));
      json_.Member("events").Number(each.second.events);
      json_.Member("disk_bytes").Number(census_.DiskBytes(each.second));
    });
    Each("authors", census_.authors, [this](const Census::OfAuthor& each) {
      json_.Member("pubkey").String(ToHex(each.author));
      json_.Member("npub").String(ToNpub(each.author));
      WriteAmount(each.amount);
    });
    Each("letters", census_.letters, [this](const Census::OfLetter& each) {
      json_.Member("letter").String(std::string(1, each.letter));
      json_.Member("entries").Number(each.entries);
    });
    Each("tags", census_.tags, [this](const Census::OfTag& each) {
      json_.Member("letter").String(std::string(1, each.letter));
      json_.Member("value").String(each.value);
      json_.Member("entries").Number(each.entries);
    });
    WriteRule();
    json_.Close('}');
    return std::move(json_).Text();
  }

 private:
  template <typename Items, typename Write>
  void Each(std::string_view name, const Items& items, Write&& write) {
    json_.Member(name).Open('[');
    for (const auto& item : items) {
      json_.Open('{');
      write(item);
      json_.Close('}');
    }
    json_.Close(']');
  }
  void WriteDisk() {
    json_.Member("disk").Open('{');
    json_.Member("events").Number(census_.disk.events);
    json_.Member("index").Number(census_.disk.index);
    json_.Member("log").Number(census_.disk.log);
    json_.Member("other").Number(census_.disk.other);
    if (census_.disk.free_bytes) json_.Member("free").Number(*census_.disk.free_bytes);
    json_.Close('}');
  }
  void WriteGrowth() {
    const Census::Growth growth = census_.GrowthADay();
    json_.Member("growth_a_day").Open('{');
    json_.Member("events").Number(growth.events, kDigits);
    json_.Member("disk_bytes").Number(growth.bytes, kDigits);
    json_.Close('}');
    if (const std::optional<double> days = census_.DaysUntilFull())
      json_.Member("days_until_full").Number(*days, kDigits);
  }
  void WriteAmount(const Amount& amount) {
    json_.Member("events").Number(amount.events);
    json_.Member("disk_bytes").Number(census_.DiskBytes(amount));
    json_.Member("disk_error").Number(RoundedCount(census_.price.ErrorBytes(amount)));
    json_.Member("record_bytes").Number(RoundedCount(amount.record_bytes));
    json_.Member("index_entries").Number(RoundedCount(amount.entries));
  }
  void WriteRule() {
    if (!census_.rule) return;
    json_.Member("rule").Open('{');
    json_.Member("before").Number(census_.rule->before);
    json_.Member("kinds").String(census_.rule->kinds.InWords());
    WriteAmount(census_.matched);
    json_.Close('}');
  }

  const Census& census_;
  JsonWriter json_;
};

}  // namespace

std::string CensusJson(const Census& census) { return CensusWriter(census).Text(); }

}  // namespace weir
