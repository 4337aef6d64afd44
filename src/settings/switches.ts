// The switches of the capabilities: which are on, and which ask for a thing that the store does not have. The table is
// in capabilities.ts.

import { type CapabilityId, capabilities } from './capabilities.ts'
import { hasSaslListener, hasTlsListener } from './endpoints.ts'
import { chooseEngine } from './engine.ts'
import { fullKey, type Key, type Settings } from './settings.ts'

export interface CapabilityState {
  readonly id: CapabilityId
  readonly label: string
  readonly state: 'on' | 'off'
  /** The full key of the setting that switches it; null if no setting does. */
  readonly setting: string | null
  /** A sentence; null if the state is `on`. */
  readonly because: string | null
}

const ids = Object.keys(capabilities) as readonly CapabilityId[]

/** Every listener has a security of its own, so the switch alone does not tell whether one of them uses it. */
const ofListeners: Readonly<Partial<Record<CapabilityId, (settings: Settings) => boolean>>> = Object.freeze({
  tls: hasTlsListener,
  sasl: hasSaslListener,
})

/** Returns the state of every capability, in the order of the table. */
export function capabilityStates(settings: Settings): readonly CapabilityState[] {
  return ids.map(id => {
    const { label, key } = capabilities[id]
    const setting = key === null ? null : fullKey(key)
    if (key === null || (ofListeners[id]?.(settings) ?? isOn(settings.get(key))))
      return { id, label, setting, state: 'on', because: null }
    const because = `${fullKey(key)} is ${settings.show(key)} (${settings.origin(key)}).`
    return { id, label, setting, state: 'off', because }
  })
}

function isOn(value: unknown): boolean {
  return value !== false && value !== null
}

/** Returns why a switch asks for a thing that the store does not have, as a sentence; null if none does. */
export function checkSwitches(settings: Settings): string | null {
  const key: Key = 'storage.local.write.wait-replicas'
  if (settings.get(key) === 0 || chooseEngine(settings).engine !== 'embedded') return null
  return `${fullKey(key)}: got ${settings.show(key)} (${settings.origin(key)}), but the embedded store keeps one copy and has no replicas; takes 0`
}
