// What the C functions of elementwise and row operators share: one kind of object, which knows its function.
#pragma once

#include <functional>
#include <initializer_list>

#include "capi/boundary.h"
#include "capi/objects.h"
#include "ops/operator.h"

namespace infini {

InfiniopDescriptor* create_operator(infiniopHandle_t handle, const OperatorPlan& plan);

// Each checks that the descriptor is one of this function.
infiniStatus_t workspace_of(Function function, InfiniopDescriptor* desc, size_t* size);
infiniStatus_t run_operator(Function function, InfiniopDescriptor* desc, size_t workspace_size,
                            const OperatorRun& run);
// `samples` has one element for each of `rows` rows.
infiniStatus_t run_samples(InfiniopDescriptor* desc, size_t workspace_size, OperatorRun run,
                           const SampleOptions* samples, int64_t rows);
infiniStatus_t destroy_operator(Function function, InfiniopDescriptor* desc);
// Of any function.
infiniStatus_t with_operator(InfiniopDescriptor* desc,
                             const std::function<void(const Operator&)>& body);
infiniStatus_t destroy_any_operator(InfiniopDescriptor* desc);

// The one that is written first.
OperatorRun make_run(void* workspace, void* stream, std::initializer_list<const void*> operands);

}  // namespace infini
