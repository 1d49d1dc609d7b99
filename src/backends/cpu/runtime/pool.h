// The library's threads. They are made when first needed, belong to all callers, and are pinned to nothing.
#pragma once

namespace infini::cpu {

using MemberBody = void (*)(void* context, int rank);

// Calls body(context, 0) on this thread, and meanwhile body(context, rank) with other ranks below `threads` on those
// threads of the pool (or of the client's executor) that are free and come in time: perhaps on none. Nobody waits for
// a thread that has not come yet, so body(context, 0) must be able to do all of the work. Returns when all have left
// the body, which must not throw. A rank may come again after it has left, never twice at the same time.
void gather(int threads, MemberBody body, void* context);

// This thread is in a body: regions that it opens have no other threads.
bool is_gathered();

}  // namespace infini::cpu
