// MemoryImage: the column families of a store as sorted maps. Copying it copies everything, so a
// copy is a backup of the disk at that moment.
//
// Thread: one. A cursor must not outlive a change of its image.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "storage/layout/image.h"

namespace quorum::storage {

class MemoryImage : public Image, public OperationSink {
 public:
  using Family = std::map<std::string, std::string>;

  std::unique_ptr<Cursor> NewCursor(ColumnFamily family) const override;
  absl::Status Get(ColumnFamily family, absl::string_view key, std::string* value) const override;

  void Put(ColumnFamily family, absl::string_view key, absl::string_view value) override;
  void Delete(ColumnFamily family, absl::string_view key) override;
  void DeleteRange(ColumnFamily family, absl::string_view begin, absl::string_view end) override;

  const Family& family(ColumnFamily family) const { return families_[IndexOf(family)]; }

  // Inverts one bit of the value at `position` (by key order) of the family. False when there is no
  // such value or bit.
  bool FlipBit(ColumnFamily family, size_t position, size_t bit);

  // True when nothing was ever written.
  bool empty() const;

 private:
  std::array<Family, kColumnFamilyCount> families_;
};

}  // namespace quorum::storage
