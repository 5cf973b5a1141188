/** The `device` argument of host callbacks: properties of the GPU, with PyTorch's names. */
import { devicePropertyNames } from "../compiled/device-properties.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import type { DeviceParam } from "../ir/nodes.js";

/** An object with a handle for each property, and the properties that the callbacks read. */
export function deviceProperties(
  recorder: Builder,
  location: Location | undefined,
): { readonly device: Handle; readonly usedParams: readonly DeviceParam[] } {
  const usedParams: DeviceParam[] = [];
  const device = {};
  for (const name of devicePropertyNames) {
    const value = recorder.value({ kind: "tile", dtype: "int32", shape: [] }, location, `device.${name}`);
    const param: DeviceParam = { kind: "device", name, value };
    const get = (): Handle => {
      if (!usedParams.includes(param)) usedParams.push(param);
      return new Handle(value);
    };
    Object.defineProperty(device, name, { get, enumerable: true });
  }
  // Callbacks get an object of handles; this is a nested object of handles.
  return { device: device as Handle, usedParams };
}
