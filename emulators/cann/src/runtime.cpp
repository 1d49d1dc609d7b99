// libruntime.so: programs for the chip link it beside libascendcl.so; here it has nothing of its
// own to say.
#include "acl/acl.h"

extern "C" ACL_FUNC_VISIBILITY const char* cann_emulator_runtime() { return aclrtGetSocName(); }
