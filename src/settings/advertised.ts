// What clients are told to connect to, which need not be what is bound.

import type { Settings } from './settings.ts'

/** Addresses that mean "every interface"; no client can connect to them. */
const EVERY_INTERFACE: ReadonlySet<string> = new Set(['0.0.0.0', '::', '0:0:0:0:0:0:0:0'])

/**
 * The advertised host and port of the Kafka listener. `boundPort` is the port that was really bound, which differs from
 * the setting when that is 0.
 */
export function advertisedEndpoint(
  settings: Settings,
  boundPort: number,
): { readonly host: string; readonly port: number } {
  const bound = settings.get('broker.host')
  const fallback = EVERY_INTERFACE.has(bound) ? 'localhost' : bound
  return {
    host: settings.get('broker.advertised-host') ?? fallback,
    port: settings.get('broker.advertised-port') ?? boundPort,
  }
}

/** Whether only this machine can reach the address. Null is every interface. */
export function isLoopback(host: string | null): boolean {
  if (host === null) return false
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Whether the address binds all interfaces. Null does. */
export function isEveryInterface(host: string | null): boolean {
  return host === null || EVERY_INTERFACE.has(host)
}
