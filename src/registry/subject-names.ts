// Which names a subject may have. Clients put names into paths, so a name that a client or a proxy may take for
// another path is refused, and so are the names with which other registries mean a context.

import { cut } from '../base/cut.ts'
import { printable } from '../base/printable.ts'
import { type RegistryRefusal, refusals } from './refusals.ts'

/** A topic with the longest name, a dash, and a record name of 512 bytes. */
export const MOST_SUBJECT_BYTES = 762

const RESERVED: readonly string[] = ['', '.', '..', '__GLOBAL', '__EMPTY']
const CONTEXTS: readonly string[] = [':.', ':*:']

/** Returns the refusal of a name that no subject may have; null if a subject may have it. */
export function objectionToSubject(name: string): RegistryRefusal | null {
  const isRefused =
    RESERVED.includes(name) ||
    CONTEXTS.some(prefix => name.startsWith(prefix)) ||
    /[\p{Cc}\p{Cs}]/u.test(name) ||
    Buffer.byteLength(name) > MOST_SUBJECT_BYTES
  return isRefused ? refusals.invalidSubject(printable(cut(name))) : null
}
