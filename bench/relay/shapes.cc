#include "bench/relay/shapes.h"

#include <functional>
#include <random>
#include <set>
#include <string_view>

namespace weir {
namespace {

class FilterMaker {
 public:
  FilterMaker(const EventSet& stored, uint64_t seed) : stored_(stored), random_(seed ^ 0x72657173) {}

  std::string ById() { return R"({"ids":[")" + std::string(stored_.id(Any())) + R"("]})"; }
  std::string ByAuthorAndKind() { return R"({"authors":[")" + Author() + R"("],"kinds":[1],"limit":20})"; }
  std::string ByReference() { return R"({"#e":[")" + TagOf('e', stored_.id(Any())) + R"("]})"; }
  // A client sends this to show the replies and reactions to a page of notes.
  std::string ByReferences(size_t notes) {
    return R"({"#e":[)" + Distinct(notes, [this] { return TagOf('e', stored_.id(Any())); }) + "]}";
  }
  // From the older half, so that the limit ends it.
  std::string ByKindSince() {
    const std::string_view since = PlainField(stored_.json(Any() / 2), "created_at");
    return R"({"kinds":[1],"since":)" + std::string(since) + R"(,"limit":500})";
  }
  std::string ByManyAuthors(size_t authors, size_t limit) {
    return R"({"authors":[)" + Distinct(authors, [this] { return Author(); }) + R"(],"limit":)" +
           std::to_string(limit) + "}";
  }
  // A client sends this to show the replies to a person.
  std::string ByPersonAndKinds() { return R"({"#p":[")" + Author() + R"("],"kinds":[1,6,7,9735],"limit":50})"; }
  std::string ByTopicAndKind() { return R"({"#t":[")" + TagOf('t', "nostr") + R"("],"kinds":[1],"limit":50})"; }
  std::string ByManyIds() {
    return R"({"ids":[)" + Distinct(100, [this] { return std::string(stored_.id(Any())); }) + "]}";
  }
  // An event's id is no author's key.
  std::string NoMatch() {
    return R"({"authors":[")" + std::string(stored_.id(Any())) + R"("],"kinds":[1],"limit":20})";
  }
  static std::string FullScan() { return R"({"limit":5000})"; }

 private:
  size_t Any() { return static_cast<size_t>(random_() % stored_.size()); }
  std::string Author() { return std::string(PlainField(stored_.json(Any()), "pubkey")); }
  // Returns the first value of such a tag of an event that has one; many have.
  std::string TagOf(char letter, std::string_view otherwise) {
    constexpr int kTries = 1000;
    const std::string tag = std::string("[\"") + letter + "\",\"";
    for (int i = 0; i < kTries; ++i) {
      std::string_view json = stored_.json(Any());
      const size_t at = json.find(tag);
      if (at == std::string_view::npos) continue;
      json.remove_prefix(at + tag.size());
      return std::string(json.substr(0, json.find('"')));
    }
    return std::string(otherwise);
  }
  static std::string Distinct(size_t count, const std::function<std::string()>& draw) {
    std::set<std::string> values;
    for (size_t tries = 0; tries < 20 * count && values.size() < count; ++tries) values.insert(draw());
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "\"" : ",\"") + value + "\"";
    return text;
  }

  const EventSet& stored_;
  std::mt19937_64 random_;
};

}  // namespace

std::vector<ReqShape> ReqShapes(const EventSet& stored, size_t variants, uint64_t seed) {
  FilterMaker make(stored, seed);
  std::vector<ReqShape> shapes;
  const auto add = [&](std::string name, bool heavy, const std::function<std::string()>& filter) {
    ReqShape& shape = shapes.emplace_back(ReqShape{.name = std::move(name), .heavy = heavy});
    for (size_t i = 0; i < variants; ++i) shape.filters.push_back(filter());
  };
  add("id", false, [&] { return make.ById(); });
  add("author+kind 20", false, [&] { return make.ByAuthorAndKind(); });
  add("#e", false, [&] { return make.ByReference(); });
  add("kind+since 500", true, [&] { return make.ByKindSince(); });
  add("50 authors 500", true, [&] { return make.ByManyAuthors(50, 500); });
  add("100 authors 50", false, [&] { return make.ByManyAuthors(100, 50); });
  add("#p+kinds 50", false, [&] { return make.ByPersonAndKinds(); });
  add("#t+kind 50", false, [&] { return make.ByTopicAndKind(); });
  add("100 ids", false, [&] { return make.ByManyIds(); });
  add("no match", false, [&] { return make.NoMatch(); });
  add("scan 5000", true, [] { return FilterMaker::FullScan(); });
  add("#e of 16", false, [&] { return make.ByReferences(16); });
  return shapes;
}

ReqShape EachOnce(const ReqShape& shape, size_t most) {
  ReqShape once{.name = shape.name, .heavy = shape.heavy, .filters = {}};
  std::set<std::string> seen;
  for (const std::string& filter : shape.filters)
    if (once.filters.size() < most && seen.insert(filter).second) once.filters.push_back(filter);
  return once;
}

std::vector<std::string> InteractiveFilters(const EventSet& stored, size_t variants, uint64_t seed) {
  FilterMaker make(stored, seed);
  std::vector<std::string> filters;
  for (size_t i = 0; i < variants; ++i) {
    filters.push_back(make.ById());
    filters.push_back(make.ByAuthorAndKind());
    filters.push_back(make.ByReference());
    filters.push_back(make.ByKindSince());
  }
  return filters;
}

}  // namespace weir
