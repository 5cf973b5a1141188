/** The names of devices. `docs/devices.md` says what runs where. */

export const deviceKinds = ["auto", "cuda", "hip", "interpreter", "eval"] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** A property, because the editor shows what it may be, and of an alias only the name. */
interface Devices {
  readonly name: DeviceKind | `${"cuda" | "hip"}:${string}` | `cpu:${number}` | `ssh:${string}` | `ray:${string}`;
}

/**
 * A kind of device; several GPUs, `cuda:all` or `cuda:0,1`; several workers on Triton's interpreter, `cpu:4`; another
 * machine, `ssh:user@host:port/python`, and after a `#` a device there, `ssh:host#cuda:all`; a Ray cluster,
 * `ray:auto`.
 */
export type DeviceName = Devices["name"];
