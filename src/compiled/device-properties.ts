/** GPU properties that a launch may depend on, named as in `torch.cuda.get_device_properties`. */

export interface DeviceProperties {
  /** Streaming multiprocessors (AMD: compute units). */
  readonly multiProcessorCount: number;
  /** Shared memory that one program may use, in bytes. */
  readonly sharedMemoryPerBlockOptin: number;
  /** Lanes of a warp. */
  readonly warpSize: number;
  /** The compute capability: 9 and 0 for sm_90. */
  readonly major: number;
  readonly minor: number;
}

/** An NVIDIA H200. The evaluator and Triton's interpreter have no GPU and launch as on this one. */
export const H200: DeviceProperties = {
  multiProcessorCount: 132,
  sharedMemoryPerBlockOptin: 232_448,
  warpSize: 32,
  major: 9,
  minor: 0,
};

export const devicePropertyNames = Object.keys(H200) as readonly (keyof DeviceProperties)[];
