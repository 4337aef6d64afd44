// Switches whose capability this version does not have. They never fail open: an operator who asks for TLS must not
// get a broker without it. When a version adds a capability, delete its line here and the `notYet` of its rows in
// settings.ts.

import { chooseEngine } from './engine.ts'
import type { Key, Settings } from './settings.ts'
import { fullKey, settingsTable } from './settings.ts'

interface Missing {
  readonly key: Key
  readonly isAsked: (settings: Settings) => boolean
  /** The second half of a message: `but <because>`. */
  readonly because: string
  /** The end of a message: `takes <takes>`. */
  readonly takes: string
}

function isOn(key: Key): (settings: Settings) => boolean {
  return settings => settings.get(key) === true
}

const missing: readonly Missing[] = [
  {
    key: 'mcp.enabled',
    isAsked: isOn('mcp.enabled'),
    because: 'the MCP endpoint is not in this version of Ketch',
    takes: 'false',
  },
  {
    key: 'storage.remote.path',
    isAsked: settings => settings.get('storage.remote.path') !== null,
    because: 'the remote tier is not in this version of Ketch',
    takes: 'no value',
  },
]

/** Switches that are on by default although this version does not have their capability. They ask for nothing. */
const IDLE = ['ui.enabled', 'schema-registry.enabled'] as const satisfies readonly Key[]

/** The switches that are on and do nothing, as a sentence; null if all of them are off. */
export function idleSwitches(settings: Settings): string | null {
  const idle = IDLE.filter(key => settings.get(key))
  if (idle.length === 0) return null
  const one = idle.length === 1
  const things = idle.map(key => settingsTable[key].notYet)
  return (
    `${idle.map(fullKey).join(' and ')} ${one ? 'is true and does' : 'are true and do'} nothing yet: ` +
    `${things.join(' and ')} ${one ? 'is' : 'are'} not in this version`
  )
}

function checkReplicas(settings: Settings): string | null {
  const key: Key = 'storage.local.write.wait-replicas'
  if (settings.get(key) === 0 || chooseEngine(settings).engine !== 'embedded') return null
  return `${fullKey(key)}: got ${settings.show(key)} (${settings.origin(key)}), but the embedded store keeps one copy and has no replicas; takes 0`
}

function checkPatterns(settings: Settings): string | null {
  for (const [at, pattern] of settings.get('topics').entries()) {
    const refuse = (field: string, got: unknown, what: string, takes: string) =>
      `svc.topics[${at}].${field}: got ${got} (${settings.origin('topics', `[${at}].${field}`)}), but ${what} is not in this version of Ketch; takes ${takes}`
    if (pattern.cleanupPolicy === 'compact') return refuse('cleanup-policy', 'compact', 'compaction', 'delete')
    if (pattern.remoteStorageEnabled === true)
      return refuse('remote-storage-enabled', 'true', 'the remote tier', 'false')
  }
  return null
}

/** The first switch that asks for a capability that this version does not have, as a sentence, or null. */
export function checkCapabilities(settings: Settings): string | null {
  const asked = missing.find(({ isAsked }) => isAsked(settings))
  if (asked) {
    const { key, because, takes } = asked
    return `${fullKey(key)}: got ${settings.show(key)} (${settings.origin(key)}), but ${because}; takes ${takes}`
  }
  return checkReplicas(settings) ?? checkPatterns(settings)
}
