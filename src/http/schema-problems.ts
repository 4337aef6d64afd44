// The problems of the admin API for the schema registry: refusals of its verbs in the words of this API. Clients of
// Kafka get Confluent's codes and texts instead (faces/schema-registry-errors.ts).

import { cut } from '../base/cut.ts'
import type { RegistryRefusal } from '../registry/refusals.ts'
import { MOST_SUBJECT_BYTES } from '../registry/subject-names.ts'
import { type Problem, problem } from './problems.ts'

/** The thing of the request, for the sentence. */
export interface Named {
  readonly subject?: string | null
  readonly version?: string | null
  readonly id?: number
}

/** Returns the problem for a refusal of the registry. */
export function fromRegistry({ code, message }: RegistryRefusal, { subject, version, id }: Named): Problem {
  const whose = subject == null ? 'The registry' : `The subject '${cut(subject)}'`
  const what = version == null ? whose : `Version ${version} of the subject '${cut(subject ?? '')}'`
  switch (code) {
    case 40401:
      return problem(
        'NOT_FOUND',
        version === 'latest'
          ? `There is no subject '${cut(subject ?? '')}' with a version that is not deleted.`
          : `There is no subject '${cut(subject ?? '')}'.`,
      )
    case 40402:
      return problem('NOT_FOUND', `${whose} has no ${message.replace(/^V(.*) not found\.$/, 'v$1')}.`)
    case 40403:
      return problem('NOT_FOUND', `There is no schema with the id ${id}.`)
    case 40404:
    case 40406:
      return problem('CONFLICT', `${what} is deleted already. A permanent deletion removes it for good.`)
    case 40405:
    case 40407:
      return problem(
        'CONFLICT',
        `${what} is not deleted yet. Delete it first; then a permanent deletion removes it for good.`,
      )
    case 40408:
      return problem('NOT_FOUND', `${whose} has no level of its own.`)
    case 40409:
      return problem('NOT_FOUND', `${whose} has no mode of its own.`)
    case 409:
      return problem('INCOMPATIBLE_SCHEMA', message)
    case 42201:
    case 42209:
      return problem('INVALID_SCHEMA', message, { fields: { schema: message } })
    case 42202:
      return misplaced('version', 'takes a number from 1 to 2147483647, or latest')
    case 42205:
      return problem('CONFLICT', `${message}.`.replace(/\.\.$/, '.'))
    case 42206:
      return problem('REFERENCED', `Other schemas refer to ${lowerFirst(what)}.`)
    case 42208:
      return misplaced(
        'subject',
        `takes 1 to ${MOST_SUBJECT_BYTES} bytes without control characters, and not ".", "..", "__GLOBAL", "__EMPTY" or a name that begins with ":." or ":*:"`,
      )
    case 50002:
      return problem('BUSY', message)
    default:
      return problem('INVALID_REQUEST', message)
  }
}

function misplaced(field: string, why: string): Problem {
  return problem('INVALID_REQUEST', `${field}: ${why}`, { fields: { [field]: why } })
}

function lowerFirst(text: string): string {
  return `${text[0]!.toLowerCase()}${text.slice(1)}`
}
