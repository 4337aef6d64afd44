// The record of a broker in the store: one document of kind `broker`, named by its id. The broker raises the version
// of the document to show that it lives. The only field is JSON with the identity of the broker, the addresses for
// clients, and the certificates by which the other brokers recognise it.

import { LISTENER_SECURITIES, type ListenerSecurity } from '../settings/settings.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Document, type Row, UnreadableDocument } from '../store/store.ts'

export const KIND: DocumentKind = 'broker'
const FIELD = 'broker'

/**
 * The abilities of this version that brokers need of each other before they use them. `rewrite`: it reads a log of
 * which the cleaner has rewritten a part. A version without it would serve cleaned ranges as gaps. `remote-tier`: it
 * reads documents of segments that name archived ranges, and never uses an archived offset again.
 */
export const FEATURES: readonly string[] = Object.freeze(['rewrite', 'remote-tier'])

/** The advertised address of a listener. */
export interface Endpoint {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly security: ListenerSecurity
}

export interface BrokerInfo {
  readonly id: number
  /** The id of one start of a broker. No other process and no other start has the same one. */
  readonly incarnation: string
  readonly rack: string | null
  /** Empty until the broker serves. Until then it leads nothing, and clients do not see it. */
  readonly endpoints: readonly Endpoint[]
  /** The version of Ketch; null for older releases, which do not write it. */
  readonly version: string | null
  /**
   * The TLS certificates that the broker presents, in base64 of DER; empty without TLS, and for older releases. While
   * the broker replaces its certificate, they are the new one and the old one.
   */
  readonly certificates: readonly string[]
  /** The features of the broker's version, from FEATURES of that version; empty for older releases. */
  readonly features: readonly string[]
  /** After this time without a sign of life the other brokers consider it dead. */
  readonly expiryMs: number
}

/** Returns whether the broker with the id is among these and its version has the feature. */
export function hasFeature(brokers: readonly BrokerInfo[], id: number, feature: string): boolean {
  return brokers.some(each => each.id === id && each.features.includes(feature))
}

export function rowOf({ incarnation, rack, endpoints, version, certificates, features, expiryMs }: BrokerInfo): Row {
  const record = { incarnation, rack, endpoints, version, certificates, features, expiryMs }
  return { key: FIELD, value: Buffer.from(JSON.stringify(record)) }
}

/** Returns the broker. Throws UnreadableDocument if the document is not in the form that `rowOf` writes. */
export function brokerOf({ name, fields }: Document): BrokerInfo {
  const id = Number(name)
  try {
    const {
      incarnation,
      rack,
      endpoints,
      version,
      certificates = [],
      features = [],
      expiryMs,
    } = JSON.parse(Buffer.from(fields.get(FIELD) ?? []).toString())
    const isKnown =
      Number.isSafeInteger(id) &&
      id >= 0 &&
      typeof incarnation === 'string' &&
      isTextOrNot(rack) &&
      isTextOrNot(version) &&
      Array.isArray(endpoints) &&
      endpoints.every(isEndpoint) &&
      isTexts(certificates) &&
      isTexts(features) &&
      typeof expiryMs === 'number' &&
      expiryMs > 0
    if (isKnown)
      return Object.freeze({
        id,
        incarnation,
        rack: rack ?? null,
        endpoints: endpoints.map(({ name, host, port, security }) => ({
          name,
          host,
          port,
          security: securityOf(security),
        })),
        version: version ?? null,
        certificates,
        features,
        expiryMs,
      })
  } catch (cause) {
    throw new UnreadableDocument(unreadable(name), { cause })
  }
  throw new UnreadableDocument(unreadable(name))
}

/** Returns whether the document has exactly this record. */
export function holds({ fields }: Document, record: BrokerInfo): boolean {
  return Buffer.compare(fields.get(FIELD) ?? Buffer.alloc(0), rowOf(record).value!) === 0
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}

function isTextOrNot(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

/**
 * Returns the security of a stored endpoint. Releases before TLS wrote none. For a word of a later release this
 * version tries the strictest security that it knows, so that it sends nothing to a listener that wants more.
 */
function securityOf(stored: unknown): ListenerSecurity {
  if (stored === undefined) return 'plaintext'
  return LISTENER_SECURITIES.find(each => each === stored) ?? 'sasl-tls'
}

function isEndpoint(value: unknown): value is Omit<Endpoint, 'security'> & { readonly security?: unknown } {
  const { name, host, port } = (value ?? {}) as Partial<Endpoint>
  return typeof name === 'string' && typeof host === 'string' && Number.isSafeInteger(port)
}

function unreadable(name: string): string {
  return `the document of broker ${name} in the store does not describe a broker in a form that this version reads`
}

/** Returns a text about the broker for people. */
export function describe({ id, incarnation, endpoints }: BrokerInfo): string {
  const [first] = endpoints
  const where = first === undefined ? 'which is starting' : `at ${first.host}:${first.port}`
  return `broker ${id} ${where} (incarnation ${incarnation})`
}
