// Names of the files of a table, and the two ways to name one: as a key of the place (relative), and as Iceberg
// metadata does (a URI). A table cannot be moved by copying it, because its metadata has URIs.

import { assert } from '../../base/assert.ts'
import type { Objects } from '../objects/objects.ts'

export const metadataPrefix = (location: string) => `${location}/metadata/`
export const hintKey = (location: string) => `${location}/metadata/version-hint.text`
export const versionKey = (location: string, version: number) => `${location}/metadata/v${version}.metadata.json`

/** Returns the version that a key of metadata names; null for other files, also for compressed metadata. */
export function versionOfKey(location: string, key: string): number | null {
  if (!key.startsWith(metadataPrefix(location))) return null
  const found = /^v([1-9]\d{0,14})\.metadata\.json$/.exec(key.slice(metadataPrefix(location).length))
  return found === null ? null : Number(found[1])
}

export const manifestKey = (location: string, uuid: string, part: number) =>
  `${location}/metadata/${uuid}-m${part}.avro`
export const manifestListKey = (location: string, snapshotId: number, uuid: string) =>
  `${location}/metadata/snap-${snapshotId}-1-${uuid}.avro`

/** Returns the URI by which metadata names the object. */
export const uriOf = (objects: Objects, key: string) => `${objects.uri}/${key}`

/** Other engines write the same place as s3a:// or s3n://, and a folder with one slash, or as a bare path. */
function plainUri(uri: string): string {
  const folder = /^file:\/*(\/.*)$/.exec(uri)
  if (folder !== null) return folder[1]!
  return uri.replace(/^s3[an]:\/\//, 's3://')
}

/** Returns the key of the object that metadata names; null if it is not in this place. */
export function keyOf(objects: Objects, uri: string): string | null {
  const place = `${plainUri(objects.uri)}/`
  const plain = plainUri(uri)
  return plain.startsWith(place) ? plain.slice(place.length) : null
}

const OFFSET_DIGITS = 20
const DAY_MS = 86_400_000

/** The facts that stand in the name of a data file. */
export interface DataFileName {
  readonly partition: number
  /** When the broker sealed its first segment, in ms since 1970. The name has only its UTC day. */
  readonly ingestedAt: number
  /** The offsets [base, next) that its segments cover. They are known before the file is made; its rows are not. */
  readonly base: number
  readonly next: number
  /** Bytes of its batches, as clients see them. Retention counts these, not the size of the file. */
  readonly kafkaBytes: number
}

const offsetText = (offset: number) => String(offset).padStart(OFFSET_DIGITS, '0')

/** Returns the key of a data file. `uuid` makes it unique, so that a second upload never writes over the first. */
export function dataFileKey(location: string, name: DataFileName, uuid: string): string {
  const { partition, base, next, kafkaBytes, ingestedAt } = name
  for (const value of [partition, base, next - 1 - base, kafkaBytes])
    assert(Number.isSafeInteger(value) && value >= 0, `a data file's name takes no ${value}`)
  // The day is floored as Iceberg's transform does it, so that the folder and the partition value agree.
  const day = new Date(Math.floor(ingestedAt / DAY_MS) * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length)
  const offsets = `${offsetText(base)}-${offsetText(next - 1)}`
  return `${location}/data/partition=${partition}/ingested_at_day=${day}/${offsets}-${kafkaBytes}-${uuid}.parquet`
}

const FILE_NAME = /^(\d{20})-(\d{20})-(\d{1,16})-[0-9a-f-]{36}\.parquet$/

/** Returns the facts in the name of a file that dataFileKey named; null for a file of another writer. */
export function readDataFileName(uriOrKey: string): Omit<DataFileName, 'partition' | 'ingestedAt'> | null {
  const found = FILE_NAME.exec(uriOrKey.slice(uriOrKey.lastIndexOf('/') + 1))
  if (found === null) return null
  const [base, last, kafkaBytes] = found.slice(1).map(Number) as [number, number, number]
  if (!Number.isSafeInteger(last + 1) || !Number.isSafeInteger(kafkaBytes) || base > last) return null
  return { base, next: last + 1, kafkaBytes }
}

/** A name is one segment of a key and must not be read as part of a URI. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/
const TOPIC = /^[A-Za-z0-9._-]+$/
/** A file system takes 255 bytes for one name. The id needs 23 of them. */
const MOST_OF_TOPIC = 200

/**
 * Returns the location of a topic's table, as a key. The topic id tells a topic from a deleted one of the same name,
 * and from others whose long names begin alike. A folder whose name begins with a dot would be hidden from engines.
 * Throws an Error if the namespace or the topic cannot be a folder.
 */
export function tableLocation(namespace: string, topic: string, topicId: string): string {
  for (const [what, name, pattern] of [
    ['namespace', namespace, SEGMENT],
    ['topic', topic, TOPIC],
    ['topic id', topicId, TOPIC],
  ] as const)
    if (!pattern.test(name))
      throw new Error(`${what} '${name}' cannot name a table: expected letters, digits, '_', '-' and '.'`)
  const shown = SEGMENT.test(topic) ? topic : `topic${topic}`
  return `${namespace}/${shown.slice(0, MOST_OF_TOPIC)}-${topicId}`
}
