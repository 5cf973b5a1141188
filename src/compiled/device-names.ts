/** Device names. `docs/devices.md` describes what runs on each. */

export const deviceKinds = ["auto", "cuda", "hip", "interpreter", "eval"] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** A property instead of an alias, because editors show the members of its type, but only the name of an alias. */
interface Devices {
  readonly name: DeviceKind | `${"cuda" | "hip"}:${string}` | `cpu:${number}` | `ssh:${string}` | `ray:${string}`;
}

/**
 * A kind of device; several GPUs, `cuda:all` or `cuda:0,1`; several workers on Triton's interpreter, `cpu:4`; another
 * machine, `ssh:user@host:port/python`, optionally followed by `#` and a device there, `ssh:host#cuda:all`; a Ray
 * cluster, `ray:auto`.
 */
export type DeviceName = Devices["name"];
