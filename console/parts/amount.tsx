// Numbers with their exact value in the title: counts, bytes and rates.

import { bytes, count, exactBytes, rate } from '../text/format.ts'

type Value = number | null | undefined

interface AmountProps {
  readonly of: Value
  /** Why the number is not known. */
  readonly why?: string
  /** True if the number is a lower bound. */
  readonly isAtLeast?: boolean
}

const isKnown = (value: Value) => value !== null && value !== undefined

export function Count({ of, why, isAtLeast = false }: AmountProps) {
  return <span title={isKnown(of) ? undefined : why}>{isAtLeast && isKnown(of) ? `≥ ${count(of)}` : count(of)}</span>
}

export function Bytes({ of, why }: AmountProps) {
  return <span title={isKnown(of) ? exactBytes(of) : why}>{bytes(of)}</span>
}

export function Rate({ of, why }: AmountProps) {
  return <span title={isKnown(of) ? String(of) : why}>{rate(of)}</span>
}
