// Digests of values: the same for the same value, however its members are ordered.

import { createHash } from 'node:crypto'
import type { JsonValue } from './tool.ts'

/** Returns the SHA-256 of the value, in base64url. Tools take it for the state of a preview. */
export function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonical(value)).digest('base64url')
}

/** Returns JSON whose members are in the order of their names. */
function canonical(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.entries(value as Readonly<Record<string, JsonValue | undefined>>)
    .filter(([, each]) => each !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each!)}`).join(',')}}`
}
