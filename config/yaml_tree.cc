#include "config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "config/text/parse.h"

namespace weir {

// Turns parser events into nodes. Throws the parser's own exception, which has a position, if a bound is exceeded.
class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  YamlTreeBuilder(YamlTree& tree, size_t max_values) : tree_(tree), max_values_(max_values) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (tree_.root_ != nullptr) throw YAML::ParserException(mark, "found a second document, expected one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode& node = NewNode(mark, YamlNode::Kind::kNull, "");
    // The parser notices a missing value only at the next token; the user looks for it at its key.
    if (!open_.empty() && open_.back().node->kind == YamlNode::Kind::kMap &&
        open_.back().node->children.size() % 2 == 1) {
      node.line = open_.back().node->children.back()->line;
      node.column = open_.back().node->children.back()->column;
    }
    Complete(mark, node, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YAML::ParserException(mark, "found an alias within what it stands for");
    Attach(mark, *found->second);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.size() > kMaxYamlScalarBytes) {
      throw YAML::ParserException(mark, "found a text of " + std::to_string(value.size()) +
                                            " bytes, expected at most " + std::to_string(kMaxYamlScalarBytes));
    }
    YamlNode& node = NewNode(mark, YamlNode::Kind::kScalar, tag);
    node.text = value;
    Complete(mark, node, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, YamlNode::Kind::kList, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, YamlNode::Kind::kMap, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    YamlNode* node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
  };

  YamlNode& NewNode(const YAML::Mark& mark, YamlNode::Kind kind, const std::string& tag) {
    // The parser gives "?" and "!" to plain and quoted scalars without a tag; YAML's own tags say nothing new.
    if (!tag.empty() && tag != "?" && tag != "!" && !tag.starts_with("tag:yaml.org,2002:"))
      throw YAML::ParserException(mark, "found the tag " + Printable(tag) + ", expected none");
    if (tree_.nodes_.size() >= max_values_) ThrowTooMany(mark);
    YamlNode& node = tree_.nodes_.emplace_back();
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    node.plain = tag == "?";
    return node;
  }

  void Open(const YAML::Mark& mark, YamlNode::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() >= kMaxYamlDepth) ThrowTooDeep(mark);
    open_.push_back({&NewNode(mark, kind, tag), mark, anchor});
  }

  void Close() {
    const OpenNode closed = open_.back();
    open_.pop_back();
    Complete(closed.mark, *closed.node, closed.anchor);
  }

  void Complete(const YAML::Mark& mark, const YamlNode& node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = &node;
    Attach(mark, node);
  }

  void Attach(const YAML::Mark& mark, const YamlNode& node) {
    if (open_.empty()) {
      tree_.root_ = &node;
      return;
    }
    YamlNode& parent = *open_.back().node;
    parent.children.push_back(&node);
    parent.values += node.values;
    parent.depth = std::max(parent.depth, node.depth + 1);
    if (parent.values > max_values_) ThrowTooMany(mark);
    if (open_.size() + node.depth > kMaxYamlDepth) ThrowTooDeep(mark);
  }

  [[noreturn]] void ThrowTooMany(const YAML::Mark& mark) const {
    throw YAML::ParserException(
        mark, "found more than " + std::to_string(max_values_) + " values (aliases unfolded), expected fewer");
  }

  [[noreturn]] static void ThrowTooDeep(const YAML::Mark& mark) {
    throw YAML::ParserException(
        mark, "found lists and maps nested deeper than " + std::to_string(kMaxYamlDepth) + ", expected fewer");
  }

  YamlTree& tree_;
  const size_t max_values_;
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, const YamlNode*> anchors_;
};

namespace {

// Returns advice for a mistake that the parser's words do not explain; empty if there is none. `line` is the line of
// the mistake, with the lines after it.
std::string_view Advice(const std::string& error, std::string_view line) {
  namespace parser = YAML::ErrorMsg;
  if (error.starts_with(parser::UNKNOWN_ANCHOR) || error == parser::ALIAS_NOT_FOUND || error == parser::CHAR_IN_ALIAS)
    return "; a name that begins with * needs quotes, unless it stands for an &anchor";
  const bool may_be_indentation = error == parser::TAB_IN_INDENTATION || error == parser::MAP_VALUE ||
                                  error == parser::MAP_KEY || error == parser::BLOCK_ENTRY;
  const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
  return may_be_indentation && indentation.find('\t') != indentation.npos ? "; YAML is indented by spaces, not by tabs"
                                                                          : "";
}

}  // namespace

Result<YamlTree> YamlTree::Parse(std::string_view text, std::string_view file, const YamlBounds& bounds) {
  const auto error_at = [&](int line, int column, const std::string& what) {
    std::ostringstream out;
    out << file << ':' << line << ':' << column << ": " << what;
    return Status::Error(out.str());
  };
  if (text.size() > bounds.file_bytes)
    return error_at(1, 1, "found more than " + std::to_string(bounds.file_bytes) + " bytes, expected fewer");
  YamlTree tree;
  try {
    // To the parser the end of the file closes an open quote, but the end of a document does not.
    std::istringstream stream(std::string(text) + (text.ends_with('\n') ? "...\n" : "\n...\n"));
    YAML::Parser parser(stream);
    YamlTreeBuilder builder(tree, bounds.values);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::ParserException& e) {
    const auto error = [&](const std::string& what) { return error_at(e.mark.line + 1, e.mark.column + 1, what); };
    if (e.msg.starts_with("found ")) return error(e.msg);
    std::string_view line = text;
    for (int before = 0; before < e.mark.line && !line.empty(); ++before)
      line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
    return error("found what is not YAML: " + e.msg + std::string(Advice(e.msg, line)));
  }
  if (tree.root_ == nullptr) tree.root_ = &tree.nodes_.emplace_back();
  return tree;
}

}  // namespace weir
