#include "storage/rocksdb/fatal_error.h"

#include <unistd.h>

#include <sstream>
#include <string>

namespace quorum::storage {

void DieOf(const StoreError& error) {
  std::ostringstream line;
  line << "FATAL " << error << "\n";
  const std::string text = line.str();
  // Neither buffered nor retried: nothing else can be done with a failure here.
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
  _exit(error.exit_code);
}

}  // namespace quorum::storage
