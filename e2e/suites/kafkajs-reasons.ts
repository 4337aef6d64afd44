// For the tests of kafkajs's suite that do not pass: who answers for them, and why. The first row that matches a test's
// name, or what it failed with, speaks for it.

import type { Outcome, Reason } from './outcomes.ts'

const rows: readonly (Reason & { readonly test?: RegExp; readonly detail?: RegExp })[] = []

export function reasonFor({ name, detail }: Outcome): Reason | null {
  return rows.find(row => (row.test?.test(name) ?? true) && (row.detail?.test(detail) ?? true)) ?? null
}
