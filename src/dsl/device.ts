/** `device` of the callbacks that run before a launch: properties of the GPU, under PyTorch's names. */
import { devicePropertyNames } from "../compiled/device-properties.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import type { DeviceParam } from "../ir/nodes.js";

/** An object with a handle for each property, and those that were asked for. */
export function deviceProperties(
  recorder: Builder,
  at: Location | undefined,
): { readonly device: Handle; readonly used: readonly DeviceParam[] } {
  const used: DeviceParam[] = [];
  const device = {};
  for (const name of devicePropertyNames) {
    const value = recorder.value({ kind: "tile", dtype: "int32", shape: [] }, at, `device.${name}`);
    const param: DeviceParam = { kind: "device", name, value };
    const get = (): Handle => {
      if (!used.includes(param)) used.push(param);
      return new Handle(value);
    };
    Object.defineProperty(device, name, { get, enumerable: true });
  }
  // Callbacks take an object of handles, of which this is one more level.
  return { device: device as Handle, used };
}
