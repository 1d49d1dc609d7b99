// Recorded graphs, and the streams of the frameworks whose arrays they use.
#pragma once

#include "array.h"

namespace infini::python {

// Called for each operator: while recording, remembers whose stream replays have to use.
void note_recorded(const Call& call);

void bind_graph(nb::module_& module);

}  // namespace infini::python
