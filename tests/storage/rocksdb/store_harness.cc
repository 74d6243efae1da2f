#include "tests/storage/rocksdb/store_harness.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <sstream>
#include <utility>

#include "service/base/check.h"
#include "service/base/mutex.h"
#include "storage/layout/read_batches.h"

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

}  // namespace

MonoTime SteadyClock::Now() const {
  return MonoTime(std::chrono::steady_clock::now().time_since_epoch());
}

int64_t SteadyClock::WallTimeMs() const { return 0; }

const Clock* RealClock() {
  static const SteadyClock clock;
  return &clock;
}

bool AwaitTrue(const std::function<bool()>& condition) {
  const MonoTime give_up = RealClock()->Now() + std::chrono::seconds(30);
  Mutex mutex;
  CondVar never;
  while (!condition()) {
    if (RealClock()->Now() > give_up) return false;
    MutexLock lock(&mutex);
    never.WaitFor(&mutex, std::chrono::milliseconds(5));
  }
  return true;
}

std::string FreshPath(const std::string& name) {
  static int next = 0;
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string base = root == nullptr ? "/tmp" : root;
  const std::string path =
      base + "/" + name + "-" + std::to_string(getpid()) + "-" + std::to_string(next++);
  fs::remove_all(path);
  return path;
}

FormatRequest MakeRequest(bool join) {
  const FormatPlan plan = MakePlan(join);
  FormatRequest request;
  request.cluster_id = plan.identity.cluster_id;
  request.node = plan.identity.node;
  request.directory = plan.identity.directory;
  request.lanes = plan.identity.lanes;
  request.initial_voters = plan.initial_voters;
  return request;
}

void FormatOrDie(const std::string& directory) {
  FormatResult result;
  const auto error = Format(directory, MakeRequest(), RocksTuning(), &result);
  CHECK(!error.has_value()) << *error;
  CHECK(!result.already_formatted);
}

StoreOptions MakeOptions(const std::string& directory) {
  StoreOptions options;
  options.directory = directory;
  options.expected = MakeExpected();
  options.writer.clock = RealClock();
  return options;
}

std::string ReasonOfOpen(const StoreOptions& options) {
  std::unique_ptr<RocksStore> store;
  const auto error = RocksStore::Open(options, &store);
  return error.has_value() ? error->reason : "none";
}

std::unique_ptr<RocksStore> OpenOrDie(const StoreOptions& options) {
  std::unique_ptr<RocksStore> store;
  const auto error = RocksStore::Open(options, &store);
  CHECK(!error.has_value()) << *error;
  return store;
}

void WriteAndWait(RocksStore* store, WriteSet set) {
  std::promise<void> done;
  store->writer()->Submit(std::move(set), [&done] { done.set_value(); });
  done.get_future().wait();
}

ReadResult ReadAndWait(RocksStore* store, PartitionId partition, Offset from, Offset end) {
  std::promise<ReadResult> done;
  store->reader()->Read({partition, from, end, size_t{1} << 30},
                        [&done](ReadResult result) { done.set_value(std::move(result)); });
  return done.get_future().get();
}

void CopyKilled(const std::string& source, const std::string& target) {
  CHECK(fs::create_directories(target));
  if (fs::exists(FloorPath(source))) fs::copy(FloorPath(source), FloorPath(target));
  if (fs::exists(LockPath(source))) fs::copy(LockPath(source), LockPath(target));
  if (fs::exists(DatabasePath(source))) {
    fs::copy(DatabasePath(source), DatabasePath(target), fs::copy_options::recursive);
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  CHECK(out.flush().good()) << path;
}

std::vector<std::string> FilesBelow(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), directory).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Snapshot(const std::string& directory) {
  std::string text;
  for (const std::string& file : FilesBelow(directory)) {
    text += file + "\n" + ReadFile(directory + "/" + file) + "\n";
  }
  return text;
}

std::string NewestFile(const std::string& directory, const std::string& extension) {
  std::string newest;
  for (const std::string& file : FilesBelow(DatabasePath(directory))) {
    if (fs::path(file).extension() == extension) newest = DatabasePath(directory) + "/" + file;
  }
  return newest;
}

namespace {

using ReadLog = std::function<ReadResult(const ReadRequest&)>;

std::string FingerprintWith(const RecoveredStore& recovered, PartitionId partition,
                            const ReadLog& read) {
  const RecoveredReplica* replica = FindReplica(recovered, partition);
  if (replica == nullptr) return "absent";
  if (replica->damage.has_value()) return "damaged";
  std::ostringstream text;
  text << replica->tombstone << " " << replica->election << " " << replica->log_start << " "
       << replica->log_end << " " << replica->high_watermark_bound << "\n";
  for (const auto& [epoch, start] : replica->leader_epochs) text << epoch << "@" << start << " ";
  text << replica->voters.Latest() << "\n";
  text << replica->producers.summary.offset << " " << replica->producers.summary.data_end << " "
       << replica->producers.summary.timestamp_ms << " " << replica->batches_above.size() << "\n";
  for (const ProducerState& producer : replica->producers.producers) {
    text << producer.id << " " << producer.epoch << " " << producer.next_sequence << " "
         << producer.last_offset << " " << producer.batches.size() << "\n";
  }
  const ReadResult batches =
      read({partition, replica->log_start, replica->log_end, size_t{1} << 30});
  if (!batches.ok()) return "damaged";
  for (const RecordBatch& batch : *batches) text << batch.bytes() << "\n";
  return text.str();
}

}  // namespace

std::string Fingerprint(const Image& image, const RecoveredStore& recovered,
                        PartitionId partition) {
  return FingerprintWith(recovered, partition, [&image](const ReadRequest& request) {
    return ReadBatches(image, request);
  });
}

std::string Fingerprint(RocksStore* store, PartitionId partition) {
  return FingerprintWith(store->recovered(), partition, [store](const ReadRequest& request) {
    return ReadAndWait(store, request.partition, request.from, request.end);
  });
}

}  // namespace quorum::storage
