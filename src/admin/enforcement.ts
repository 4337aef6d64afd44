// Whether the Kafka listener enforces the credentials and the rules in the store. The verbs that change them say so,
// because an operator who creates a rule expects that it is enforced.

import { fullKey, type Settings, settingsTable } from '../settings/settings.ts'

type Switch = 'broker.sasl.enabled' | 'broker.acl.enabled'

/** A sentence for people; null once clients are asked for credentials. */
export function credentialNotice(settings: Pick<Settings, 'get'>): string | null {
  return notice(settings, 'broker.sasl.enabled', 'No broker asks Kafka clients for credentials')
}

/** A sentence for people; null once rules decide what clients may do. */
export function aclNotice(settings: Pick<Settings, 'get'>): string | null {
  return notice(settings, 'broker.acl.enabled', 'No broker enforces rules: every Kafka client may do everything')
}

function notice(settings: Pick<Settings, 'get'>, key: Switch, consequence: string): string | null {
  if (settings.get(key)) return null
  const { notYet } = settingsTable[key]
  return `${consequence}, because ${notYet === undefined ? `${fullKey(key)} is false` : `this version does not have ${notYet}`}.`
}
