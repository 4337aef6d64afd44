// Says whether the Kafka listener enforces the credentials and the rules in the store. The verbs that change them
// show these notices, because an operator who creates a rule expects that it is enforced.

import { fullKey, type Settings, settingsTable } from '../settings/settings.ts'

type Switch = 'broker.sasl.enabled' | 'broker.acl.enabled'

/** Returns a sentence for people if no broker asks clients for credentials; else null. */
export function credentialNotice(settings: Pick<Settings, 'get'>): string | null {
  return notice(settings, 'broker.sasl.enabled', 'No broker asks Kafka clients for credentials')
}

/** Returns a sentence for people if no broker enforces rules; else null. */
export function aclNotice(settings: Pick<Settings, 'get'>): string | null {
  return notice(settings, 'broker.acl.enabled', 'No broker enforces rules: every Kafka client may do everything')
}

function notice(settings: Pick<Settings, 'get'>, key: Switch, consequence: string): string | null {
  if (settings.get(key)) return null
  const { notYet } = settingsTable[key]
  return `${consequence}, because ${notYet === undefined ? `${fullKey(key)} is false` : `this version does not have ${notYet}`}.`
}
