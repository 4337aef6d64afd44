// How a broker rests in the store: one document of kind `broker`, named by its id. Its version is the counter that shows
// that the broker lives; its one field says, as JSON, who it is and where clients reach it.

import type { Document, Row } from '../store/store.ts'

export const KIND = 'broker'
const FIELD = 'broker'

/** Where a listener is reached, as clients are told. */
export interface Endpoint {
  readonly name: string
  readonly host: string
  readonly port: number
}

export interface BrokerInfo {
  readonly id: number
  /** One life of a broker: a word that no other process and no other start has. */
  readonly incarnation: string
  readonly rack: string | null
  /** Empty until the broker serves: it leads nothing and clients are not told of it. */
  readonly endpoints: readonly Endpoint[]
  /** Of Ketch; null for a release that does not say it yet. */
  readonly version: string | null
  /** How long it may give no sign of life before the others take it for dead. */
  readonly expiryMs: number
}

export function rowOf({ incarnation, rack, endpoints, version, expiryMs }: BrokerInfo): Row {
  return { key: FIELD, value: Buffer.from(JSON.stringify({ incarnation, rack, endpoints, version, expiryMs })) }
}

/** Throws naming the document when it is not what `rowOf` makes. */
export function brokerOf({ name, fields }: Document): BrokerInfo {
  const id = Number(name)
  try {
    const { incarnation, rack, endpoints, version, expiryMs } = JSON.parse(Buffer.from(fields.get(FIELD)!).toString())
    const isKnown =
      Number.isSafeInteger(id) && typeof incarnation === 'string' && Array.isArray(endpoints) && expiryMs > 0
    if (isKnown)
      return Object.freeze({ id, incarnation, rack: rack ?? null, endpoints, version: version ?? null, expiryMs })
  } catch (cause) {
    throw new Error(unreadable(name), { cause })
  }
  throw new Error(unreadable(name))
}

function unreadable(name: string): string {
  return `the document of broker ${name} in the store does not describe a broker in a form that this version reads`
}

/** For people. */
export function describe({ id, incarnation, endpoints }: BrokerInfo): string {
  const [first] = endpoints
  const where = first === undefined ? 'which is starting' : `at ${first.host}:${first.port}`
  return `broker ${id} ${where} (incarnation ${incarnation})`
}
