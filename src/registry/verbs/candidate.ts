// A schema that a client sends: checked against its bounds, parsed, and brought into the form in which it would be
// stored.

import { cut } from '../../base/cut.ts'
import { SCHEMA_TYPES, type SchemaText, type SchemaType, type Strictness } from '../format.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import { type Content, guidOf, type JsonObject } from '../state/content.ts'
import type { Subject } from '../state/subject.ts'
import type { Examined } from '../work/schema-call.ts'
import { isUnusable, type Unusable } from '../work/unusable.ts'
import { dependenciesOf, normalizedReferences, resolveReferences } from './dependencies.ts'
import type { SchemaRequest, VerbRooms } from './rooms.ts'

export interface Candidate {
  readonly content: Content
  readonly guid: string
  /** The guid without metadata and rules. */
  readonly bareGuid: string
  /** True if the client sends neither metadata nor rules. */
  readonly isBare: boolean
  /** The canonical text with all that it refers to. */
  readonly source: SchemaText
  readonly examined: Examined
}

export interface CandidateOptions {
  /** The subject in which the schema is looked up or registered. */
  readonly own: Subject
  readonly isNormalized: boolean
  /** `new` by default. `stored` for a schema that may be stored already, here or elsewhere. */
  readonly strictness?: Strictness
  /** True: its references may name deleted versions. */
  readonly mayBeDeleted?: boolean
}

const MOST_OBJECT_BYTES = 256 * 1024
const MOST_OBJECT_LEVELS = 32

/** Resolves with the schema, or with the refusal of it. Throws what the store throws. */
export async function candidateOf(
  { state, work }: VerbRooms,
  request: SchemaRequest,
  { own, isNormalized, strictness = 'new', mayBeDeleted = false }: CandidateOptions,
): Promise<Candidate | RegistryRefusal> {
  const type = schemaTypeOf(request.type)
  if (isRefusal(type)) return type
  const objection = objectionToObject('metadata', request.metadata) ?? objectionToObject('ruleSet', request.ruleSet)
  if (objection !== null) return objection
  const resolved = await resolveReferences(state, request.references ?? [], { own, mayBeDeleted })
  if (isRefusal(resolved)) return resolved
  const dependencies = await dependenciesOf(state, resolved)
  const sent = { text: request.schema, dependencies }
  const examined = await work.examine(type, sent, strictness)
  if (isUnusable(examined)) return refusalOf(type, examined)
  const content: Content = {
    type,
    schema: isNormalized ? examined.normalized : examined.canonical,
    references: isNormalized ? normalizedReferences(resolved) : resolved,
    metadata: objectOf(request.metadata),
    ruleSet: objectOf(request.ruleSet),
  }
  return {
    ...withGuids(content),
    isBare: request.metadata == null && request.ruleSet == null,
    source: { text: content.schema, dependencies },
    examined,
  }
}

/** Returns the schema with other metadata and rules. */
export function withObjects(
  candidate: Candidate,
  objects: { readonly metadata: JsonObject | null; readonly ruleSet: JsonObject | null },
): Candidate {
  return { ...candidate, ...withGuids({ ...candidate.content, ...objects }) }
}

export function refusalOf(type: SchemaType, { kind, why }: Unusable): RegistryRefusal {
  if (kind === 'busy') return refusals.busy(why)
  if (kind === 'large') return refusals.tooLarge(`Schema is too large: ${why}`)
  return refusals.invalidSchema(`Invalid schema of type ${type}, details: ${why}`)
}

function withGuids(content: Content): Pick<Candidate, 'content' | 'guid' | 'bareGuid'> {
  const guid = guidOf(content)
  const isBare = content.metadata === null && content.ruleSet === null
  return { content, guid, bareGuid: isBare ? guid : guidOf({ ...content, metadata: null, ruleSet: null }) }
}

function schemaTypeOf(type: string | undefined): SchemaType | RegistryRefusal {
  const found = SCHEMA_TYPES.find(each => each === (type ?? 'AVRO'))
  return found ?? refusals.invalidSchema(`Invalid schema type ${cut(type!)}; the types are ${SCHEMA_TYPES.join(', ')}`)
}

/** An empty object stands for none. */
function objectOf(sent: JsonObject | null | undefined): JsonObject | null {
  return sent == null || Object.keys(sent).length === 0 ? null : sent
}

function objectionToObject(name: 'metadata' | 'ruleSet', sent: JsonObject | null | undefined): RegistryRefusal | null {
  if (sent == null) return null
  // The depth comes first: JSON.stringify calls itself for each level.
  if (isDeeperThan(sent, MOST_OBJECT_LEVELS))
    return refusals.invalidSchema(`Invalid ${name}: it has more than ${MOST_OBJECT_LEVELS} levels`)
  if (JSON.stringify(sent).length > MOST_OBJECT_BYTES)
    return refusals.tooLarge(`The ${name} is too large: the most bytes are ${MOST_OBJECT_BYTES}`)
  if (name === 'ruleSet') return null
  const properties: unknown = sent.properties ?? {}
  const isMap = typeof properties === 'object' && properties !== null && !Array.isArray(properties)
  if (isMap && Object.values(properties).every(each => typeof each === 'string')) return null
  return refusals.invalidSchema('Invalid metadata: its properties must be an object of texts')
}

export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}
