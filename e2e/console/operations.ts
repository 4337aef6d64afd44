// The operations of the admin API as the walks need them: those that only an ADMIN may run, and those that have no
// control of their own on purpose.

import { operations } from '../../console/api/operations.ts'

export type Operation = keyof typeof operations

export const adminOperations = (Object.keys(operations) as Operation[]).filter(
  operation => operations[operation].needs === 'admin',
)

/** Operations for an ADMIN without a control that carries their name, and why. */
export const WITHOUT_CONTROL: Readonly<Partial<Record<Operation, string>>> = {}
