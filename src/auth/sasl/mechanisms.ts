// Opens the SASL mechanisms that a broker advertises. Each mechanism has a line in one table.

import { fullKey, type MechanismName, type Settings, SettingsError } from '../../settings/settings.ts'
import type { SaslMechanism } from './mechanism.ts'

/** The rooms that mechanisms use. */
export interface MechanismRooms {
  readonly settings: Settings
}

/** Opens a mechanism. Throws SettingsError if the settings cannot be used. */
type Open = (rooms: MechanismRooms) => Promise<SaslMechanism>

const openers: Readonly<Record<MechanismName, Open>> = {
  'SCRAM-SHA-256': missing('SCRAM-SHA-256'),
  PLAIN: missing('PLAIN'),
  OAUTHBEARER: missing('OAUTHBEARER'),
  GSSAPI: missing('GSSAPI'),
}

/** Resolves with the mechanisms of `broker.sasl.mechanisms`, in that order. Throws SettingsError. */
export async function openMechanisms(rooms: MechanismRooms): Promise<readonly SaslMechanism[]> {
  return await Promise.all(rooms.settings.get('broker.sasl.mechanisms').map(name => openers[name](rooms)))
}

function missing(name: MechanismName): Open {
  return async () => {
    throw new SettingsError(
      `${fullKey('broker.sasl.mechanisms')}: ${name} is not in this version of Ketch, so no client could authenticate with it`,
    )
  }
}
