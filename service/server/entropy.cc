#include "service/server/entropy.h"

#include <unistd.h>

#include "service/base/check.h"

namespace quorum::server {
namespace {

uint64_t DrawNumber() {
  uint64_t number = 0;
  CHECK_EQ(getentropy(&number, sizeof(number)), 0) << "The kernel gives no entropy.";
  return number;
}

}  // namespace

uint64_t DrawSeed() {
  uint64_t seed = DrawNumber();
  while (seed == 0) seed = DrawNumber();
  return seed;
}

DirectoryId DrawDirectoryId() {
  DirectoryId id;
  while (id.IsZero()) id = DirectoryId{DrawNumber(), DrawNumber()};
  return id;
}

}  // namespace quorum::server
