// The few types of XRE's CUDA-compatible layer that the BLAS header speaks.
#pragma once

typedef struct CUstream_st* cudaStream_t;

enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
typedef cudaDataType_t cudaDataType;
