// A subject as it is stored: its versions, its level and configuration, its mode. The global level and mode are a
// record of the same form without versions. It knows no store.
//
//   the field `head`      JSON of { format }: marks the document as a subject
//   a field `v<version>`  JSON of { id, guid, bareGuid?, isDeleted, atMs, references: [[subject, version], ...] }
//   the field `config`    JSON of { config }, absent if it is empty
//   the field `mode`      JSON of { mode }, absent if the subject has none of its own
//   a field `hold-<key>`  JSON of { subject, versions, atMs }: a hold, while a schema is registered in the subject that
//                         refers to these versions

import type { Document, Row } from '../../store/store.ts'
import type { JsonObject } from './content.ts'
import { bytesOfJson, countOf, isObject, readJson, textOf } from './stored-json.ts'

export const LEVELS = Object.freeze([
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
] as const)
export type Level = (typeof LEVELS)[number]

export const MODES = Object.freeze(['READWRITE', 'READONLY', 'IMPORT'] as const)
export type Mode = (typeof MODES)[number]

export interface SubjectVersion {
  readonly version: number
  readonly id: number
  readonly guid: string
  /** The guid that the schema would have without metadata and rules. */
  readonly bareGuid: string
  /** Deleted softly: it is still resolved by its id, and its number is not used again. */
  readonly isDeleted: boolean
  /** When it was registered, in ms since 1970 by the clock of the broker. */
  readonly atMs: number
  /** The subjects and versions that its schema refers to directly. */
  readonly references: readonly (readonly [subject: string, version: number])[]
}

/** A registration in progress of a schema that refers to versions of the subject (reference-holds.ts). */
export interface Hold {
  /** Of the field; unique for the registration. */
  readonly key: string
  /** In which the schema is registered. */
  readonly subject: string
  readonly versions: readonly number[]
  /** When it began, in ms since 1970 by the clock of its broker. */
  readonly atMs: number
}

/** An immutable snapshot. */
export interface Subject {
  readonly name: string
  /** Of the document; 0 if the subject has no document. */
  readonly documentVersion: number
  /** In ascending order. */
  readonly versions: readonly SubjectVersion[]
  /** As clients set it, with `compatibilityLevel`. Empty by default. */
  readonly config: JsonObject
  /** Null: the global mode counts. */
  readonly mode: Mode | null
  readonly holds: readonly Hold[]
}

const HEAD = 'head'
const CONFIG = 'config'
const MODE = 'mode'
/** One object for all: most subjects have neither, and very many are in memory. */
const NO_CONFIG: JsonObject = Object.freeze({})
const NO_REFERENCES: SubjectVersion['references'] = Object.freeze([])
const NO_HOLDS: readonly Hold[] = Object.freeze([])
const VERSION = /^v([1-9]\d{0,9})$/
const HOLD = /^hold-[0-9a-f]+$/

export function emptySubject(name: string): Subject {
  return Object.freeze({ name, documentVersion: 0, versions: [], config: {}, mode: null, holds: NO_HOLDS })
}

export function liveVersions({ versions }: Subject): readonly SubjectVersion[] {
  return versions.filter(({ isDeleted }) => !isDeleted)
}

/** Returns the newest version that is not deleted, or null. */
export function latestLive({ versions }: Subject): SubjectVersion | null {
  return versions.findLast(({ isDeleted }) => !isDeleted) ?? null
}

export function nextVersion({ versions }: Subject): number {
  return (versions.at(-1)?.version ?? 0) + 1
}

/** Returns the subject with another version, or with this one in place of the one with its number. */
export function withVersion(subject: Subject, added: SubjectVersion): Subject {
  const others = subject.versions.filter(({ version }) => version !== added.version)
  return { ...subject, versions: [...others, added].sort((one, other) => one.version - other.version) }
}

/** Throws UnreadableDocument. `what` names the document for people. */
export function subjectOf(name: string, document: Document | null, what: string): Subject {
  if (document === null) return emptySubject(name)
  readJson(document, HEAD, what, () => null)
  const versions: SubjectVersion[] = []
  const holds: Hold[] = []
  for (const key of document.fields.keys()) {
    const number = VERSION.exec(key)
    if (number !== null) versions.push(readJson(document, key, what, value => versionOf(Number(number[1]), value)))
    else if (HOLD.test(key)) holds.push(readJson(document, key, what, value => holdOf(key, value)))
  }
  versions.sort((one, other) => one.version - other.version)
  return {
    name,
    documentVersion: document.version,
    versions,
    config: document.fields.has(CONFIG) ? readJson(document, CONFIG, what, configOf) : NO_CONFIG,
    mode: document.fields.has(MODE) ? readJson(document, MODE, what, modeOf) : null,
    holds: holds.length === 0 ? NO_HOLDS : holds,
  }
}

function versionOf(version: number, { id, guid, bareGuid, isDeleted, atMs, references }: JsonObject): SubjectVersion {
  if (typeof isDeleted !== 'boolean' || !Number.isFinite(atMs)) throw new Error(`its version ${version} is incomplete`)
  if (!Array.isArray(references)) throw new Error(`its version ${version} has no list of references`)
  return {
    version: countOf(version, 'version'),
    id: countOf(id, 'id'),
    guid: textOf(guid, 'guid'),
    bareGuid: bareGuid === undefined ? textOf(guid, 'guid') : textOf(bareGuid, 'guid'),
    isDeleted,
    atMs: atMs as number,
    references:
      references.length === 0
        ? NO_REFERENCES
        : references.map(each => [textOf(each?.[0], 'reference'), countOf(each?.[1], 'reference')] as const),
  }
}

function holdOf(key: string, { subject, versions, atMs }: JsonObject): Hold {
  if (!Array.isArray(versions) || !Number.isFinite(atMs)) throw new Error('a hold of it is incomplete')
  const numbers = versions.map(each => countOf(each, 'held version'))
  return { key, subject: textOf(subject, 'holder'), versions: numbers, atMs: atMs as number }
}

function configOf({ config }: JsonObject): JsonObject {
  if (!isObject(config)) throw new Error('its configuration is no object')
  const level = config.compatibilityLevel
  if (level === undefined || LEVELS.includes(level as Level)) return config
  throw new Error(`its level is ${JSON.stringify(level)}`)
}

function modeOf({ mode }: JsonObject): Mode {
  if (MODES.includes(mode as Mode)) return mode as Mode
  throw new Error(`its mode is ${JSON.stringify(mode)}`)
}

export function levelOf({ config }: Subject): Level | null {
  return (config.compatibilityLevel as Level | undefined) ?? null
}

/** Returns the rows that change the document; null if it must be removed, because nothing is left of the subject. */
export function rowsBetween(before: Subject, after: Subject): readonly Row[] | null {
  if (after.versions.length === 0 && Object.keys(after.config).length === 0 && after.mode === null) return null
  const rows: Row[] = [...ROWS_OF_NOTHING]
  const former = new Map(before.versions.map(each => [each.version, each]))
  for (const each of after.versions) {
    if (former.get(each.version) !== each) {
      const { version, bareGuid, ...rest } = each
      const named = bareGuid === each.guid ? rest : { ...rest, bareGuid }
      rows.push({ key: `v${version}`, value: bytesOfJson(named) })
    }
    former.delete(each.version)
  }
  for (const version of former.keys()) rows.push({ key: `v${version}`, value: null })
  if (after.config !== before.config) {
    const value = Object.keys(after.config).length === 0 ? null : bytesOfJson({ config: after.config })
    rows.push({ key: CONFIG, value })
  }
  if (after.mode !== before.mode)
    rows.push({ key: MODE, value: after.mode === null ? null : bytesOfJson({ mode: after.mode }) })
  rows.push(...rowsOfHolds(before.holds, after.holds))
  return rows
}

/** Returns the rows that change the holds. */
export function rowsOfHolds(before: readonly Hold[], after: readonly Hold[]): readonly Row[] {
  const gone = before.filter(({ key }) => !after.some(each => each.key === key))
  const added = after.filter(each => !before.includes(each))
  return [
    ...gone.map(({ key }) => ({ key, value: null })),
    ...added.map(({ key, ...rest }) => ({ key, value: bytesOfJson(rest) })),
  ]
}

/** The rows that change nothing but the version of the document, and make it if it does not exist. */
export const ROWS_OF_NOTHING: readonly Row[] = Object.freeze([{ key: HEAD, value: bytesOfJson({}) }])

/** Returns about how many bytes of memory the subject takes. */
export function subjectBytes({ name, versions, config, holds }: Subject): number {
  const settings = Object.keys(config).length === 0 ? 0 : 4 * JSON.stringify(config).length
  let bytes = 300 + 2 * name.length + settings + 400 * holds.length
  for (const { references } of versions) {
    bytes += 250
    for (const [subject] of references) bytes += 100 + 2 * subject.length
  }
  return bytes
}
