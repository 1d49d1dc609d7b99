// Telling the host's memory from a device's before a kernel or a copy meets it.
//
// The runtime takes any address and complains at the next wait, when nobody knows any more which call it
// was; it has no question for what an address is.
#pragma once

#include <cstddef>

namespace infini::kunlun {

// For all memory that our devices give.
void note_device_memory(const void* p, size_t bytes);

// Throws BAD_PARAM when p is surely the host's: outside all that our devices gave, and the host can read
// it. (Device addresses are not mapped into the process.) Memory that others got from the runtime passes.
// Takes no lock; asks the kernel only about addresses that are not ours.
void require_device_memory(const void* p, const char* argument);

}  // namespace infini::kunlun
