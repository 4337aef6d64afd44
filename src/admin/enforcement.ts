// Says whether the Kafka listeners enforce the credentials and the rules in the store. The verbs that change them
// show these notices, because an operator who creates a rule expects that it is enforced.

import type { Mechanism } from '../api/words.ts'
import { hasSaslListener } from '../settings/endpoints.ts'
import type { Settings } from '../settings/settings.ts'

/** Returns a sentence for people if no client can authenticate with a credential for this mechanism; else null. */
export function credentialNotice(settings: Settings, mechanism: Mechanism): string | null {
  if (!hasSaslListener(settings))
    return 'No broker asks Kafka clients for credentials, because svc.broker.sasl.enabled is false.'
  return settings.get('broker.sasl.mechanisms').includes(mechanism)
    ? null
    : `No broker offers ${mechanism} to Kafka clients, because it is not in svc.broker.sasl.mechanisms.`
}

/** Returns a sentence for people if no broker enforces rules; else null. */
export function aclNotice(settings: Settings): string | null {
  return settings.get('broker.acl.enabled')
    ? null
    : 'No broker enforces rules: every Kafka client may do everything, because svc.broker.acl.enabled is false.'
}
