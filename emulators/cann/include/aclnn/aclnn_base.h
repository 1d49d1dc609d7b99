// Status numbers and opaque types shared by all two-phase operators.
#pragma once
#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclOpExecutor aclOpExecutor;
typedef struct aclTensor aclTensor;
typedef struct aclIntArray aclIntArray;
typedef struct aclScalar aclScalar;
typedef int32_t aclnnStatus;

static const int ACLNN_SUCCESS = 0;
static const int ACLNN_ERR_PARAM_NULLPTR = 161001;
static const int ACLNN_ERR_PARAM_INVALID = 161002;
static const int ACLNN_ERR_RUNTIME_ERROR = 361001;
static const int ACLNN_ERR_INNER = 561000;
static const int ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101;
static const int ACLNN_ERR_INNER_NULLPTR = 561103;

#ifdef __cplusplus
}
#endif
