// Goldens: files of a test that hold what it shall put out.
//
// Thread: any.

#pragma once

#include <string>
#include <vector>

namespace quorum {

// The names of the files `*.txt` in the folder, which is relative to the workspace's root, sorted,
// without their ending. Empty when there is no such folder.
std::vector<std::string> ListGoldens(const std::string& folder);

// All of a file; empty when it cannot be read.
std::string ReadGolden(const std::string& path);

}  // namespace quorum
