// The requests of a worker that concern kernels without a workload.
#include <cmath>
#include <cstring>
#include <fstream>

#include "measure/cpu/buffer_protocol.h"
#include "measure/cpu/control_kernel.h"
#include "measure/cpu/fault_report.h"
#include "measure/cpu/worker_state.h"
#include "measure/internal/cpu_info.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr std::uint64_t kRandomIntegers = 100;
constexpr double kTolerance = 1e-4, kToleranceF64 = 1e-9;

Result<void> FillBuffer(const UserBuffer& from, std::uint64_t seed, GuardedBuffer& buffer) {
  if (!from.file.empty()) {
    std::ifstream file(from.file, std::ios::binary);
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

}  // namespace

Result<void> WorkerState::OpenBuffers(const OpenBuffersRequest& request) {
  Close();
  PinTo(request.cpus);
  processors_ = request.cpus.size();
  for (std::size_t i = 0; i < request.buffers.size(); ++i) {
    const UserBuffer& from = request.buffers[i];
    const int id = static_cast<int>(i);
    KINDRED_TRY(GuardedBuffer buffer,
                GuardedBuffer::Make(from.name, from.elements * ByteSize(from.type)));
    if (from.read) KINDRED_CHECK(FillBuffer(from, request.seed, buffer));
    if (!from.written) {
      buffer.SetReadOnly(true);
      data_.inputs.emplace(id, std::move(buffer));
      continue;
    }
    if (from.read) first_contents_[id].assign(buffer.data(), buffer.data() + buffer.bytes());
    ExpectedOutput& expected = data_.expected.emplace_back();
    expected.name = from.name;
    expected.type = from.type;
    expected.shape = {from.elements};
    expected.positions.resize(1);
    data_.output_tensors.push_back(id);
    data_.outputs.emplace(id, std::move(buffer));
  }
  return {};
}

void WorkerState::ResetOutputs() {
  for (auto& [id, buffer] : data_.outputs) {
    const auto first = first_contents_.find(id);
    if (first == first_contents_.end())
      buffer.Fill(kUnwritten);
    else
      std::memcpy(buffer.data(), first->second.data(), first->second.size());
  }
}

Result<Outcome> WorkerState::TakeReference(const TakeReferenceRequest& request) {
  has_reference_ = false;
  for (auto& [id, buffer] : data_.outputs) buffer.Mend();
  ResetOutputs();
  KINDRED_TRY(Outcome outcome, RunOnce(request.call));
  if (outcome.status != Status::kOk) return outcome;
  for (std::size_t i = 0; i < data_.expected.size(); ++i) {
    ExpectedOutput& expected = data_.expected[i];
    const std::byte* const data = data_.outputs.at(data_.output_tensors[i]).data();
    const std::int64_t elements = expected.shape[0];
    expected.integral = IsInteger(expected.type);
    expected.values.clear();
    expected.integers.clear();
    double squares = 0, counted = 0;
    for (std::int64_t k = 0; k < elements; ++k) {
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
    const double tolerance = request.tolerance > 0 ? request.tolerance : usual;
    const double typical = counted > 0 ? std::sqrt(squares / counted) : 0;
    expected.bounds.assign(static_cast<std::size_t>(elements), 0);
    for (std::size_t k = 0; k < expected.values.size(); ++k)
      if (std::isfinite(expected.values[k]))
        expected.bounds[k] = tolerance * (std::fabs(expected.values[k]) + typical);
  }
  has_reference_ = true;
  return outcome;
}

}  // namespace kindred
