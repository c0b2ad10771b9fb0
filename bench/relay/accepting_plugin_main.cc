// accepting_plugin: a policy plugin (relay/plugins/plugin_lines.h) that accepts every event at once, so that a run of
// relay_load shows the cost of the protocol alone. It expects that each event begins with its id, as the events of
// relay_load do.
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kBeforeId = "\"event\":{\"id\":\"";
constexpr size_t kIdDigits = 64;

std::string AnswerTo(std::string_view question) {
  const size_t found = question.find(kBeforeId);
  if (found == question.npos) return "no event\n";
  std::string answer = "{\"id\":\"";
  return answer.append(question.substr(found + kBeforeId.size(), kIdDigits)).append("\",\"action\":\"accept\"}\n");
}

bool WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

int main() {
  static std::array<char, 64 << 10> bytes;
  std::string input;
  for (ssize_t size = 0; (size = read(STDIN_FILENO, bytes.data(), bytes.size())) > 0;) {
    input.append(bytes.data(), static_cast<size_t>(size));
    std::string answers;
    size_t begin = 0;
    for (size_t end = 0; (end = input.find('\n', begin)) != input.npos; begin = end + 1)
      answers += AnswerTo(std::string_view(input).substr(begin, end - begin));
    input.erase(0, begin);
    if (!WriteAll(answers)) return 1;
  }
  return 0;
}
