// The unit of a number, as Kafka's and Ketch's names end in it: retention.ms, max.message.bytes, size-bytes.

const UNITS = { ms: 'ms', minutes: 'minutes', hours: 'hours', bytes: 'bytes', messages: 'records' } as const

export type Unit = (typeof UNITS)[keyof typeof UNITS]

/** Returns the unit that the name of a config or a setting ends in; null for the name of a count or of a text. */
export function unitOf(name: string): Unit | null {
  const [last = ''] = /[^.-]+$/.exec(name) ?? []
  return Object.hasOwn(UNITS, last) ? UNITS[last as keyof typeof UNITS] : null
}
