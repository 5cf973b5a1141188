/*
 * Stands in for the CUDA driver on a machine without a GPU: it says that there is one of compute capability 9.0, takes
 * binaries without loading them, and keeps what the last launch was asked for instead of running it.
 */
#include "cuda.h"
#include <stdlib.h>

long launches;
int counted; /* How many arguments of a kernel to keep; whoever launches says it. */
unsigned long long arguments[32];
unsigned grid[3], threads, shared;
int attributes;
void *stream, *function;

static int context;

CUresult cuInit(unsigned flags) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = 9;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    break;
  default: /* Bytes of shared memory, among others. */
    *value = 232448;
  }
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *current) {
  *current = (CUcontext)&context;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext current) { return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *current, CUdevice device) { return cuCtxGetCurrent(current); }
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  *module = malloc(1);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *found, CUmodule module, const char *name) {
  *found = malloc(1);
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction of) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction of, CUfunction_attribute attribute, int value) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction of, CUfunc_cache config) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = "an error of the stand-in";
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  *(CUdeviceptr *)data = pointer;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction of, const CUlaunchConfig *config) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream of, CUstreamCaptureStatus *status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction of, void **given, void **extra) {
  launches += 1;
  for (int i = 0; i < counted; i++)
    arguments[i] = *(unsigned long long *)given[i];
  grid[0] = config->gridDimX;
  grid[1] = config->gridDimY;
  grid[2] = config->gridDimZ;
  threads = config->blockDimX;
  shared = config->sharedMemBytes;
  attributes = config->numAttrs;
  stream = config->hStream;
  function = of;
  return CUDA_SUCCESS;
}
