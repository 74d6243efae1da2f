// WalNumbers: finds holes in the write-ahead log that the database's own recovery steps over.
//
// The database drops an incomplete record at the end of each WAL file, also of one that a later
// file follows; a flipped bit in a length makes any record look incomplete. But every write of ours
// carries its number, one above that of the write before it: where the numbers that the WAL holds
// do not rise by one, or do not go on from what the tables hold, writes are missing.
//
// Thread: one; made for one opening.

#pragma once

#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <optional>
#include <string>

#include "storage/layout/store_error.h"

namespace quorum::storage {

// Collects the numbers, and keeps every record from being replayed.
class WalNumbers : public rocksdb::WalFilter {
 public:
  WalProcessingOption LogRecordFound(unsigned long long log_number,
                                     const std::string& log_file_name,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* new_batch, bool* batch_changed) override;
  const char* Name() const override { return "WalNumbers"; }

  // `flushed` is the number that the tables hold, 0 when they hold none.
  std::optional<StoreError> Check(uint64_t flushed) const;

 private:
  // Absent while no record was found.
  std::optional<uint64_t> first_;
  uint64_t last_ = 0;
  // The first break in the row, for people.
  std::string break_;
};

}  // namespace quorum::storage
