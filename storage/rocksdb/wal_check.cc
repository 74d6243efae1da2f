#include "storage/rocksdb/wal_check.h"

#include <rocksdb/write_batch.h>

#include "absl/strings/str_cat.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/value_codec.h"

namespace quorum::storage {
namespace {

// Finds the number that a batch carries.
class NumberFinder : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (family != IndexOf(ColumnFamily::kDefault) || key != rocksdb::Slice(kSyncedNumberKey)) {
      return rocksdb::Status::OK();
    }
    const auto number = DecodeNumber({ColumnFamily::kDefault, kSyncedNumberKey},
                                     absl::string_view(value.data(), value.size()));
    if (number.ok()) number_ = static_cast<uint64_t>(*number);
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteRangeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }

  std::optional<uint64_t> number() const { return number_; }

 private:
  std::optional<uint64_t> number_;
};

}  // namespace

rocksdb::WalFilter::WalProcessingOption WalNumbers::LogRecordFound(unsigned long long,
                                                                   const std::string& log_file_name,
                                                                   const rocksdb::WriteBatch& batch,
                                                                   rocksdb::WriteBatch*, bool*) {
  NumberFinder finder;
  const rocksdb::Status status = batch.Iterate(&finder);
  if (!status.ok() || !finder.number().has_value()) {
    return WalProcessingOption::kCorruptedRecord;
  }
  const uint64_t number = *finder.number();
  if (first_.has_value() && number != last_ + 1 && break_.empty()) {
    break_ = absl::StrCat("In ", log_file_name, " synced write ", number, " follows ", last_, ".");
  }
  if (!first_.has_value()) first_ = number;
  last_ = number;
  return WalProcessingOption::kIgnoreCurrentRecord;
}

std::optional<StoreError> WalNumbers::Check(uint64_t flushed) const {
  if (!break_.empty()) return DamageError(kCorrupt, break_);
  if (!first_.has_value()) return std::nullopt;
  if (*first_ > flushed + 1 || last_ < flushed) {
    return DamageError(kCorrupt, absl::StrCat("The WAL holds synced writes ", *first_, " to ",
                                              last_, ", the tables go up to ", flushed, "."));
  }
  return std::nullopt;
}

}  // namespace quorum::storage
