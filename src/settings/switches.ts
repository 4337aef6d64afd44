// The switches of the capabilities: which are on, and which ask for a capability that this version does not have. They
// never fail open: an operator who asks for TLS must not get a broker without it. capabilities.ts has the table.

import { absenceOf, type CapabilityId, capabilities } from './capabilities.ts'
import { hasSaslListener, hasTlsListener } from './endpoints.ts'
import { chooseEngine } from './engine.ts'
import { fullKey, type Key, type Settings } from './settings.ts'

export interface CapabilityState {
  readonly id: CapabilityId
  readonly label: string
  readonly state: 'on' | 'off' | 'absent'
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
    const absence = absenceOf(id)
    if (absence !== null)
      return { id, label, setting, state: 'absent', because: `${absence[0]!.toUpperCase()}${absence.slice(1)}.` }
    if (key === null || (ofListeners[id]?.(settings) ?? isOn(settings.get(key))))
      return { id, label, setting, state: 'on', because: null }
    const because = `${fullKey(key)} is ${settings.show(key)} (${settings.origin(key)}).`
    return { id, label, setting, state: 'off', because }
  })
}

function isOn(value: unknown): boolean {
  return value !== false && value !== null
}

function checkReplicas(settings: Settings): string | null {
  const key: Key = 'storage.local.write.wait-replicas'
  if (settings.get(key) === 0 || chooseEngine(settings).engine !== 'embedded') return null
  return `${fullKey(key)}: got ${settings.show(key)} (${settings.origin(key)}), but the embedded store keeps one copy and has no replicas; takes 0`
}

/** The first switch that asks for a capability that this version does not have, as a sentence, or null. */
export function checkSwitches(settings: Settings): string | null {
  const id = ids.find(each => {
    const { key, isHere } = capabilities[each]
    return !isHere && key !== null && isOn(settings.get(key))
  })
  if (id === undefined) return checkReplicas(settings)
  const key = capabilities[id].key!
  const takes = typeof settings.get(key) === 'boolean' ? 'false' : 'no value'
  return `${fullKey(key)}: got ${settings.show(key)} (${settings.origin(key)}), but ${absenceOf(id)}; takes ${takes}`
}
