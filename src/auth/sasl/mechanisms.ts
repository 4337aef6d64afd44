// Opens the SASL mechanisms that a broker advertises. Each mechanism has a line in one table. A mechanism is loaded
// when it is opened, so that a start does not load the others.

import type { MechanismName } from '../../settings/settings.ts'
import type { GssapiRooms } from './gssapi/gssapi.ts'
import type { SaslMechanism } from './mechanism.ts'
import type { ScramRooms } from './scram.ts'

/** The rooms that mechanisms use. */
export type MechanismRooms = ScramRooms & GssapiRooms

/** Opens a mechanism. Throws SettingsError if the settings cannot be used. */
type Open = (rooms: MechanismRooms) => Promise<SaslMechanism>

const openers: Readonly<Record<MechanismName, Open>> = {
  'SCRAM-SHA-256': async rooms => (await import('./scram.ts')).openScram(rooms),
  PLAIN: async rooms => (await import('./plain.ts')).openPlain(rooms),
  OAUTHBEARER: async rooms => (await import('./oauthbearer.ts')).openOauthbearer(rooms),
  GSSAPI: async rooms => await (await import('./gssapi/gssapi.ts')).openGssapi(rooms),
}

/** Resolves with the mechanisms of `broker.sasl.mechanisms`, in that order. Throws SettingsError. */
export async function openMechanisms(rooms: MechanismRooms): Promise<readonly SaslMechanism[]> {
  return await Promise.all(rooms.settings.get('broker.sasl.mechanisms').map(name => openers[name](rooms)))
}
