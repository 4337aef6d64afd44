// The operations of the admin API as the walks need them: those that only an ADMIN may run, and those that have no
// control of their own on purpose.

import { operations } from '../../console/api/operations.ts'

export type Operation = keyof typeof operations

export const adminOperations = (Object.keys(operations) as Operation[]).filter(
  operation => operations[operation].needs === 'admin',
)

/** Operations for an ADMIN without a control that carries their name, and why. */
export const WITHOUT_CONTROL: Readonly<Partial<Record<Operation, string>>> = {
  'change credential':
    'a new credential of the same name replaces the old one, and names the mechanism (store credential)',
}

const patterns = (Object.keys(operations) as Operation[])
  .map(operation => {
    const { method, path } = operations[operation]
    const names = path.match(/:\w+/g)?.length ?? 0
    return { operation, method, names, path: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) }
  })
  // `/acls/match` is a path of its own and no principal.
  .toSorted((one, other) => one.names - other.names)

/** Returns the operation that a request runs; null if the admin API has no such request. */
export function operationOf(method: string, url: string): Operation | null {
  const { pathname } = new URL(url)
  return patterns.find(each => each.method === method && each.path.test(pathname))?.operation ?? null
}
