// Refusals of the schema registry in the words of the admin API, which agent tools say too. Clients of Kafka get
// Confluent's codes and texts instead (http/faces/schema-registry-errors.ts).

import { cut } from '../../base/cut.ts'
import type { RegistryRefusal } from '../../registry/refusals.ts'
import type { Registry } from '../../registry/registry.ts'
import { MOST_SUBJECT_BYTES } from '../../registry/subject-names.ts'
import type { Settings } from '../../settings/settings.ts'
import { capabilityStates } from '../../settings/switches.ts'
import { type Declined, declined } from '../declined.ts'
import type { SchemaRooms } from './subjects.ts'

interface MaybeRegistry {
  /** Null if it is switched off. */
  readonly registry: Registry | null
  readonly judge: SchemaRooms['judge'] | null
  readonly settings: Settings
}

/** Returns the rooms with the registry of this caller, or declines because it is switched off. */
export function withRegistry<R extends MaybeRegistry>(
  rooms: R,
  caller: string,
): (R & Pick<SchemaRooms, 'registry' | 'judge'>) | Declined {
  const { registry, judge, settings } = rooms
  if (registry !== null && judge !== null) return { ...rooms, registry: registry.of(caller), judge }
  const state = capabilityStates(settings).find(({ id }) => id === 'schema-registry')
  return declined('SCHEMA_REGISTRY_OFF', state?.because ?? 'The schema registry is off.')
}

/** The thing of the request, for the sentence. */
export interface Named {
  readonly subject?: string | null
  readonly version?: string | null
  readonly id?: number
}

/** Returns a refusal of the registry in the words of the admin API. */
export function inWords({ code, message }: RegistryRefusal, { subject, version, id }: Named): Declined {
  const whose = subject == null ? 'The registry' : `The subject '${cut(subject)}'`
  const what = version == null ? whose : `Version ${version} of the subject '${cut(subject ?? '')}'`
  switch (code) {
    case 40401:
      return declined(
        'NOT_FOUND',
        version === 'latest'
          ? `There is no subject '${cut(subject ?? '')}' with a version that is not deleted.`
          : `There is no subject '${cut(subject ?? '')}'.`,
      )
    case 40402:
      return declined('NOT_FOUND', `${whose} has no ${message.replace(/^V(.*) not found\.$/, 'v$1')}.`)
    case 40403:
      return declined('NOT_FOUND', `There is no schema with the id ${id}.`)
    case 40404:
    case 40406:
      return declined('CONFLICT', `${what} is deleted already. A permanent deletion removes it for good.`)
    case 40405:
    case 40407:
      return declined(
        'CONFLICT',
        `${what} is not deleted yet. Delete it first; then a permanent deletion removes it for good.`,
      )
    case 40408:
      return declined('NOT_FOUND', `${whose} has no level of its own.`)
    case 40409:
      return declined('NOT_FOUND', `${whose} has no mode of its own.`)
    case 409:
      return declined('INCOMPATIBLE_SCHEMA', message)
    case 42201:
    case 42209:
      return declined('INVALID_SCHEMA', message, { schema: message })
    case 42202:
      return misplaced('version', 'takes a number from 1 to 2147483647, or latest')
    case 42205:
      return declined('CONFLICT', `${message}.`.replace(/\.\.$/, '.'))
    case 42206:
      return declined('REFERENCED', `Other schemas refer to ${lowerFirst(what)}.`)
    case 42208:
      return misplaced(
        'subject',
        `takes 1 to ${MOST_SUBJECT_BYTES} bytes without control characters, and not ".", "..", "__GLOBAL", "__EMPTY" or a name that begins with ":." or ":*:"`,
      )
    case 50002:
      return declined('BUSY', message)
    default:
      return declined('INVALID_REQUEST', message)
  }
}

function misplaced(field: string, why: string): Declined {
  return declined('INVALID_REQUEST', `${field}: ${why}`, { [field]: why })
}

function lowerFirst(text: string): string {
  return `${text[0]!.toLowerCase()}${text.slice(1)}`
}
