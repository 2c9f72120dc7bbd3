#include "measure/internal/workload_data.h"

#include <cstring>
#include <string>
#include <utility>

#include "schedules/inputs.h"
#include "schedules/text_form.h"

namespace kindred {

std::vector<std::int64_t> MeasuredExtents(const Workload& workload) {
  std::vector<std::int64_t> extents;
  for (const Symbol& symbol : workload.symbols)
    extents.push_back(symbol.likely.empty() ? symbol.high : symbol.likely.front());
  return extents;
}

Result<WorkloadData> OpenWorkload(const OpenRequest& request) {
  WorkloadData data;
  KINDRED_TRY(data.workload, ParseWorkload(request.workload));
  data.extents = MeasuredExtents(data.workload);

  std::string hashes;
  for (const int tensor : ArgumentTensors(data.workload)) {
    const Tensor& t = data.workload.tensors[tensor];
    KINDRED_TRY(GuardedBuffer buffer, GuardedBuffer::Make(t.name, Bytes(t)));
    if (data.workload.ProducerOf(tensor) == nullptr) {
      FillInput(data.workload, tensor, request.seed, buffer.span());
      hashes += HashOf({reinterpret_cast<const char*>(buffer.data()),
                        static_cast<std::size_t>(buffer.bytes())})
                    .Hex();
      buffer.SetReadOnly(true);
      data.inputs.emplace(tensor, std::move(buffer));
      continue;
    }
    ExpectedOutput& expected = data.expected.emplace_back();
    expected.name = t.name;
    expected.type = t.type;
    for (const Extent& extent : t.shape) expected.shape.push_back(extent.value);
    if (data.output_tensors.size() < request.positions.size())
      expected.positions = request.positions[data.output_tensors.size()];
    if (t.type == DataType::kC64) {  // both parts are compared
      expected.type = DataType::kF32;
      expected.shape.push_back(2);
    }
    expected.positions.resize(expected.shape.size());
    data.output_tensors.push_back(tensor);
    data.outputs.emplace(tensor, std::move(buffer));
  }
  for (const OpenRequest::IndexInput& index : request.index_inputs) {
    const auto bytes = static_cast<std::int64_t>(index.positions.size() * sizeof(std::int64_t));
    KINDRED_TRY(GuardedBuffer buffer, GuardedBuffer::Make("sample", bytes));
    std::memcpy(buffer.data(), index.positions.data(), static_cast<std::size_t>(bytes));
    hashes +=
        HashOf({reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(bytes)})
            .Hex();
    buffer.SetReadOnly(true);
    data.inputs.emplace(index.tensor, std::move(buffer));
  }
  data.inputs_hash = HashOf(hashes);
  return data;
}

}  // namespace kindred
