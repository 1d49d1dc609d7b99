// Recorded graphs, and the streams of the frameworks whose arrays they use.
#pragma once

#include "doors/torch.h"

namespace infini::python {

// Called for each operator: while recording, remembers whose stream replays have to use.
void note_recorded(const Call& call);
// Called for each tensor that an operator gets: while recording, remembers those over PyTorch's
// memory. Returns it.
infinicore::Tensor noted(infinicore::Tensor tensor);
// The memory of a PyTorch tensor; while recording, one for all uses of the same object.
std::shared_ptr<TorchMemory> recorded_memory(const Array& array);

void bind_graph(nb::module_& module);

}  // namespace infini::python
