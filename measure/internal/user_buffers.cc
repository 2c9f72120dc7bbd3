#include "measure/internal/user_buffers.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>

#include "schedules/base/seed.h"
#include "schedules/user/npy.h"

namespace kindred {
namespace {

constexpr std::uint64_t kRandomIntegers = 100;
constexpr double kTolerance = 1e-4, kToleranceF64 = 1e-9;

Result<void> FillBuffer(const UserBuffer& from, std::uint64_t seed, GuardedBuffer& buffer) {
  if (!from.file.empty()) {
    std::ifstream file(from.file, std::ios::binary);
    file.seekg(from.file_offset);
    file.read(reinterpret_cast<char*>(buffer.data()), static_cast<std::streamsize>(buffer.bytes()));
    if (file.gcount() != static_cast<std::streamsize>(buffer.bytes()))
      return BadInput("the file " + from.file + " of argument " + from.name + " does not have " +
                      std::to_string(buffer.bytes()) + " bytes");
    return {};
  }
  Random random(DeriveSeed(seed, from.name));
  const int size = ByteSize(from.type);
  for (std::int64_t i = 0; i < from.elements; ++i) {
    std::byte* const to = buffer.data() + i * size;
    if (IsFloat(from.type)) {
      StoreFloat(from.type, from.random ? random.Uniform() : from.value, to);
    } else {
      const std::uint64_t drawn = random.Below(from.type == DataType::kBool ? 2 : kRandomIntegers);
      StoreInteger(
          from.type,
          from.random ? static_cast<std::int64_t>(drawn) : static_cast<std::int64_t>(from.value),
          to);
    }
  }
  return {};
}

Result<void> Save(const std::string& path, const UserBuffer& buffer,
                  std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << NpyHeaderText(buffer.type, buffer.elements);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) return Environment("a kernel's output " + path + " cannot be written");
  return {};
}

void Expect(const UserBuffer& buffer, const std::byte* data, ExpectedOutput& expected) {
  expected.integral = IsInteger(expected.type);
  expected.values.clear();
  expected.integers.clear();
  double squares = 0, counted = 0;
  for (std::int64_t k = 0; k < buffer.elements; ++k) {
    if (expected.integral) {
      expected.integers.push_back(ReadInteger(expected.type, data, k));
      continue;
    }
    expected.values.push_back(ReadElement(expected.type, data, k));
    if (!std::isfinite(expected.values.back())) continue;
    squares += expected.values.back() * expected.values.back();
    ++counted;
  }
  const double usual = expected.type == DataType::kF64 ? kToleranceF64 : kTolerance;
  const double tolerance = buffer.tolerance > 0 ? buffer.tolerance : usual;
  const double typical = counted > 0 ? std::sqrt(squares / counted) : 0;
  expected.bounds.assign(static_cast<std::size_t>(buffer.elements), 0);
  for (std::size_t k = 0; k < expected.values.size(); ++k)
    if (std::isfinite(expected.values[k]))
      expected.bounds[k] = tolerance * (std::fabs(expected.values[k]) + typical);
}

}  // namespace

Result<void> OpenUserBuffers(const OpenBuffersRequest& request, WorkloadData& data,
                             FirstContents& first) {
  for (std::size_t i = 0; i < request.buffers.size(); ++i) {
    const UserBuffer& from = request.buffers[i];
    const int id = static_cast<int>(i);
    KINDRED_TRY(GuardedBuffer buffer,
                GuardedBuffer::Make(from.name, from.elements * ByteSize(from.type)));
    if (from.read) KINDRED_CHECK(FillBuffer(from, request.seed, buffer));
    if (!from.written) {
      buffer.SetReadOnly(true);
      data.inputs.emplace(id, std::move(buffer));
      continue;
    }
    if (from.read) first[id].assign(buffer.data(), buffer.data() + buffer.bytes());
    if (from.scratch) {
      data.outputs.emplace(id, std::move(buffer));
      continue;
    }
    ExpectedOutput& expected = data.expected.emplace_back();
    expected.name = from.name;
    expected.type = from.type;
    expected.shape = {from.elements};
    expected.positions.resize(1);
    data.output_tensors.push_back(id);
    data.outputs.emplace(id, std::move(buffer));
  }
  return {};
}

void ExpectOutputs(const std::vector<UserBuffer>& buffers, WorkloadData& data) {
  for (std::size_t i = 0; i < data.expected.size(); ++i) {
    const int id = data.output_tensors[i];
    Expect(buffers[static_cast<std::size_t>(id)], data.outputs.at(id).data(), data.expected[i]);
  }
}

Result<void> SaveBuffers(const std::string& folder, const std::vector<UserBuffer>& buffers,
                         const WorkloadData& data, const FirstContents& first) {
  if (folder.empty()) return {};
  const auto save_once = [](const std::string& path, const UserBuffer& buffer,
                            std::span<const std::byte> bytes) -> Result<void> {
    std::error_code code;
    if (std::filesystem::exists(path, code)) return {};
    return Save(path, buffer, bytes);
  };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const int id = static_cast<int>(i);
    const std::string path = folder + "/" + buffers[i].name;
    if (const auto input = data.inputs.find(id); input != data.inputs.end())
      KINDRED_CHECK(save_once(path + ".npy", buffers[i], input->second.span()));
    if (const auto before = first.find(id); before != first.end())
      KINDRED_CHECK(save_once(path + ".before.npy", buffers[i], before->second));
    if (const auto output = data.outputs.find(id); output != data.outputs.end())
      KINDRED_CHECK(Save(path + ".npy", buffers[i], output->second.span()));
  }
  return {};
}

}  // namespace kindred
