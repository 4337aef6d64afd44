// Tells which members the good answers of a route have, for the table of operations of the console (scripts/docs.ts).
// The console has no schemas, and checks with these that an answer came from this broker.

import { z } from 'zod'
import type { AnyRoute } from './route.ts'

/** Returns the members that are always there, separated by spaces, a list as `name[]`; '' if no answer is an object. */
export function membersOfAnswer({ answers }: Pick<AnyRoute, 'answers'>): string {
  const shape = Object.values(answers).find(each => each instanceof z.ZodObject)
  if (shape === undefined) return ''
  return Object.entries<z.ZodType>(shape.shape)
    .filter(([, member]) => !member.safeParse(undefined).success)
    .map(([name, member]) => (member instanceof z.ZodArray ? `${name}[]` : name))
    .join(' ')
}
