#include "tests/durability/crash_image.h"

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace weir {

namespace fs = std::filesystem;

PowerCut::PowerCut() { fs::create_directories(data()); }

std::string PowerCut::environment() const {
  fs::remove_all(shadow());
  fs::create_directories(shadow());
  return "LD_PRELOAD=" SYNCED_ONLY " WEIR_DURABLE_ROOT=" + data().string() +
         " WEIR_DURABLE_SHADOW=" + shadow().string() + " ";
}

void PowerCut::Crash() {
  const fs::path image = Image();
  fs::remove_all(data());
  fs::rename(image, data());
}

fs::path PowerCut::Image() {
  fs::path image = fs::path(directory_.path()) / ("image-" + std::to_string(++images_));
  Restore(TextOf(shadow() / "root"), image);
  return image;
}

void PowerCut::Restore(const std::string& key, const fs::path& to) const {
  fs::create_directories(to);
  std::istringstream names(TextOf(shadow() / ("d-" + key)));
  std::string of_file;
  char type = 0;
  for (std::string name; names >> of_file >> type && std::getline(names.ignore(1), name);) {
    if (type == 'd') {
      Restore(of_file, to / name);
    } else if (const fs::path synced = shadow() / ("f-" + of_file); fs::exists(synced)) {
      fs::copy_file(synced, to / name);
    } else {
      std::ofstream(to / name).flush();  // the name is there, its content is lost
    }
  }
}

CommandResult RunCommand(const std::string& command) {
  CommandResult result;
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  char buffer[65536];
  for (size_t bytes = 0; (bytes = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, bytes);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result;
}

}  // namespace weir
